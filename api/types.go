package api

import (
	"time"

	"github.com/opmint/opmint/keygen"
	"github.com/opmint/opmint/vtpmdetect"
)

// Level is the level of the API that this package speaks. It rises when
// something is added; what is there stays as it is.
const Level = 1

// MaxNames is the most names that one request can ask for.
const MaxNames = 1_000_000

// Names is the answer to POST /v1/names.
type Names struct {
	Names []string `json:"names"` // in the format that was asked for, in mint order

	// Class, Identity and Epoch are those of the first name. An answer that
	// outlasts a lease or an epoch goes on in the next; each name in native
	// format carries its own.
	Class    keygen.Class    `json:"class"`    // h, v or j
	Identity keygen.Identity `json:"identity"` // whose names they are
	Epoch    uint64          `json:"epoch"`    // under which they were minted
}

// NameInfo is what a name says, and what the daemon knows of it.
type NameInfo struct {
	Name     keygen.Name     `json:"name"`              // as it was asked for
	Class    keygen.Class    `json:"class"`             // h, v, j or s
	Identity keygen.Identity `json:"identity,omitzero"` // absent in class s
	Epoch    *uint64         `json:"epoch,omitempty"`   // absent in class s
	Seq      *uint64         `json:"seq,omitempty"`     // absent in class s
	Labels   []string        `json:"labels"`            // of a child, outermost first

	// Here says that this daemon knows the epoch as its own; it does not say that
	// the name was handed out.
	Here    bool      `json:"here"`
	Claimed time.Time `json:"claimed,omitzero"` // when the epoch was claimed, in UTC
}

// Describe returns what a name says by itself, without a daemon.
func Describe(name keygen.Name) NameInfo {
	info := NameInfo{Name: name, Class: name.Class(), Labels: append([]string{}, name.Labels()...)}
	if name.Minted() {
		info.Identity, info.Epoch, info.Seq = name.Identity(), new(name.Epoch()), new(name.Seq())
	}
	return info
}

// Identity says whose names a daemon mints, and on what their promise rests.
type Identity struct {
	Class    keygen.Class    `json:"class"`    // of the names minted now: h, v or j
	Assumed  bool            `json:"assumed"`  // the class is the operator's word
	Identity keygen.Identity `json:"identity"` // whose names they are

	// What the identity is made of, see [keygen.NewIdentity]. The first two are
	// absent in class j, where they count as zeros.
	EKFingerprint string `json:"ek_fingerprint,omitempty"` // sha256: and 64 hex digits
	Incarnation   string `json:"incarnation,omitempty"`    // 64 hex digits; live and die with the NV index
	Minter        string `json:"minter"`                   // 32 hex digits; new after a renewal, in v and j after a start

	// Epoch is the one under which they are minted.
	Epoch uint64 `json:"epoch"`

	// Counter is the NV counter as it was read for this answer; absent if it could
	// not be read, and in class j.
	Counter *uint64 `json:"counter,omitempty"`

	// FreshRandomness says that the keys of names have the CPU's randomness in
	// them, which a restored memory snapshot does not repeat.
	FreshRandomness bool `json:"fresh_randomness"`

	// Evidence is what the daemon saw of the machine when it started.
	Evidence vtpmdetect.Evidence `json:"evidence"`
	// Verdict is what the evidence means. Class is the verdict's unless the
	// operator, or a rollback, says otherwise.
	Verdict vtpmdetect.Verdict `json:"verdict"`

	// Rollbacks are those that the daemon's journal remembers, in the order in
	// which they were noticed: at least the newest 32 of each kind.
	Rollbacks []Rollback `json:"rollbacks"`
}

// Rollback is something that went back in time, or may have.
type Rollback struct {
	Time time.Time `json:"time"` // when it was noticed, in UTC

	// What is tpm or journal, in values of the TPM's counter; generation, in
	// generations of a virtual machine; clock, in milliseconds since 1970; or
	// ledger, in its events.
	What     string `json:"what"`
	Seen     uint64 `json:"seen"`     // in the unit of its kind
	Expected uint64 `json:"expected"` // at least, or of a journal at most
}

// Health is the answer of a daemon that runs.
type Health struct {
	Version string `json:"version"` // of opmintd
	API     int    `json:"api"`     // the [Level] that it speaks
}

// Readiness is the answer of a daemon that can mint. One that cannot answers
// with a [Problem].
type Readiness struct {
	Ready bool `json:"ready"` // always true

	// Warning says what will keep the daemon from minting once the open epoch is
	// used up, such as a TPM that does not answer; empty if nothing will.
	Warning string `json:"warning,omitempty"`
}
