package vtpmdetect

import "slices"

// TPMKind is what a TPM is.
type TPMKind string

// What a TPM can be.
const (
	TPMPhysical TPMKind = "physical" // a chip or firmware of this machine
	TPMVirtual  TPMKind = "virtual"  // software
	TPMShared   TPMKind = "shared"   // a chip that is passed through to a virtual machine
	TPMUnknown  TPMKind = "unknown"  // not enough is known of it
	TPMNone     TPMKind = "none"     // there is none
)

// HostKind is what a machine is.
type HostKind string

// What a machine can be.
const (
	HostMetal   HostKind = "metal"   // no hypervisor below it
	HostVM      HostKind = "vm"      // a virtual machine
	HostUnknown HostKind = "unknown" // not enough is known of it
)

// Class is the class of the names that a machine can mint: their first letter.
type Class string

// The classes a verdict can give.
const (
	ClassH Class = "h" // physical TPM, and the machine is no VM
	ClassV Class = "v" // any other TPM
	ClassJ Class = "j" // no TPM
)

// Verdict is what the evidence means.
type Verdict struct {
	TPM     TPMKind  `json:"tpm"`     // what the TPM is
	Host    HostKind `json:"host"`    // what the machine is
	Class   Class    `json:"class"`   // what names may promise on it
	Reasons []Reason `json:"reasons"` // never empty; the deciding ones first
}

// Reason is one observation and what it means by itself, which another that
// stands before it may outweigh.
type Reason struct {
	Signal string `json:"signal"` // the field of the evidence, such as "tpm.driver"
	Value  string `json:"value"`  // what it holds; empty where it is absent
	Says   string `json:"says"`   // a TPMKind for a signal of the TPM, a HostKind for one of the host
	Why    string `json:"why"`    // for people
}

// facts is the evidence with what follows from it, as the rules need it.
type facts struct {
	noTPM bool
	tpm   TPM
	maker maker
	host  Host
	kind  HostKind // known once the host is judged
}

func factsOf(e Evidence) facts {
	f := facts{noTPM: e.TPM == nil, host: e.Host}
	if e.TPM != nil {
		f.tpm = *e.TPM
	}
	f.maker = makerOf(f.tpm)
	return f
}

// rule is one row of a table: reasons lists why it fits, and is empty if it
// does not.
type rule[K ~string] struct {
	name    string
	says    K
	reasons func(facts) []Reason
}

// Judge says what the evidence means. It is pure: equal evidence, equal
// verdict. Any evidence can be judged.
//
// The first rule of hostRules that fits decides what the host is, then the
// first of tpmRules what the TPM is. Reasons are listed in this order: those
// of the TPM's deciding rule, those of the host's, and those of other rules
// that fit.
func Judge(e Evidence) Verdict {
	f := factsOf(e)
	host := decide(hostRules, f)
	f.kind = host.says
	tpm := decide(tpmRules, f)
	return Verdict{
		TPM:     tpm.says,
		Host:    host.says,
		Class:   classOf(tpm.says, host.says),
		Reasons: slices.Concat(tpm.deciding, host.deciding, tpm.others, host.others),
	}
}

func classOf(tpm TPMKind, host HostKind) Class {
	switch {
	case tpm == TPMNone:
		return ClassJ
	case tpm == TPMPhysical && host != HostVM:
		return ClassH
	}
	return ClassV
}

// decision is what a table of rules says, and why.
type decision[K ~string] struct {
	says             K
	deciding, others []Reason
}

// decide applies the rules in order. The last one must fit always; it counts
// only if no other does.
func decide[K ~string](rules []rule[K], f facts) decision[K] {
	var d decision[K]
	for i, r := range rules {
		if d.deciding != nil && i == len(rules)-1 {
			break
		}
		reasons := r.reasons(f)
		for j := range reasons {
			reasons[j].Says = string(r.says)
		}
		switch {
		case len(reasons) == 0:
		case d.deciding == nil:
			d.says, d.deciding = r.says, reasons
		default:
			d.others = append(d.others, reasons...)
		}
	}
	return d
}
