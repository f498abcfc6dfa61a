package main

import (
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/opmint/opmint/api"
	"github.com/opmint/opmint/keygen"
	"github.com/opmint/opmint/vtpmdetect"
)

// clockFacts is what is seen of the clocks.
type clockFacts struct {
	now    time.Time
	built  time.Time // of the commit that this program was built from; zero if not known
	synced *bool     // the kernel's opinion; nil if it has none
}

func lookAtClocks() clockFacts {
	return clockFacts{now: time.Now(), built: api.ThisBuild().Committed, synced: clockSynced()}
}

// checkClock judges the clocks, on which no name depends.
func checkClock(f *facts) finding {
	remedy := f.asRoot() + "timedatectl set-ntp true"
	if f.unit.why != "" {
		remedy = f.asRoot() + "chronyd -q 'pool pool.ntp.org iburst'"
	}
	now := f.clock.now.UTC().Format(time.RFC3339)
	switch {
	case f.clock.now.Before(f.clock.built):
		return warning(remedy,
			"it shows %s, before this program was made: names are safe, and what is kept for a time is not", now)
	case f.clock.synced != nil && !*f.clock.synced:
		return warning(remedy, "it shows %s, and nobody sets it right: names are safe, and times in logs may be wrong", now)
	case f.tpm.answers() && !f.tpm.opened.Properties.ClockSafe:
		return good("%s; the TPM lost power without warning and may show a time twice, on which nothing depends", now)
	}
	return good("%s", now)
}

// classFacts is what this machine is judged to be.
type classFacts struct {
	report vtpmdetect.Report
	fresh  bool  // the CPU's own randomness is in that of names
	random error // why no randomness can be had
}

// judgeMachine looks at the machine as the daemon does when it starts.
func judgeMachine(t *tpmFacts) classFacts {
	machine := vtpmdetect.LocalMachine()
	machine.TPM = t.opened
	c := classFacts{report: vtpmdetect.Examine(machine)}
	c.report.Doubt()
	if t.unwanted() {
		c.report.Verdict.Class = vtpmdetect.ClassJ
	}
	random := keygen.NewFreshRandom()
	_, c.random = io.ReadFull(random, make([]byte, 64))
	c.fresh = random.Fresh()
	return c
}

// demoted reports whether the TPM's counter went back once.
func demoted(rollbacks []api.Rollback) bool {
	return slices.ContainsFunc(rollbacks, func(r api.Rollback) bool { return r.What == "tpm" })
}

// checkClass says in which class names are minted, and why.
func checkClass(f *facts) finding {
	seen := f.class.report.Verdict
	id := f.daemon.identity
	if id == nil {
		class := keygen.Class(seen.Class[0])
		return good("%v: %s; %s", class, promises[class], firstReason(seen))
	}
	says := fmt.Sprintf("%v: %s", id.Class, promises[id.Class])
	switch {
	case id.Assumed:
		return good("%s; by the operator's word, what is seen says %s: %s", says, seen.Class, firstReason(seen))
	case demoted(id.Rollbacks) && id.Class == keygen.ClassV:
		return warning(f.provision(" --new-index")+" && "+f.restart("TERM"),
			"%s; the TPM's counter went back once: on a machine that is no VM, a new index makes class h possible again", says)
	case vtpmdetect.Class(id.Class.String()) != seen.Class:
		return warning(f.restart("TERM"),
			"%s, says the daemon; what is seen now says %s: %s; it may have been told otherwise, "+
				"or have seen less when it started", says, seen.Class, firstReason(seen))
	}
	return good("%s; %s", says, firstReason(seen))
}

// firstReason is why the verdict is what it is.
func firstReason(v vtpmdetect.Verdict) string {
	if len(v.Reasons) == 0 {
		return "no reason is known"
	}
	return v.Reasons[0].Why
}

// checkRandomness judges whether a restored memory snapshot repeats names.
func checkRandomness(f *facts) finding {
	id := f.daemon.identity
	switch {
	case f.class.random != nil:
		return failure(f.asRoot()+"systemctl reboot", "the kernel gives no randomness: %v", f.class.random)
	case f.class.fresh && (id == nil || id.FreshRandomness):
		return good("the CPU's own is mixed in, which a restored memory snapshot does not repeat")
	case f.class.fresh:
		return warning(f.restart("TERM"), "the CPU's generator was stuck when the daemon needed it, and works again")
	case f.class.report.Verdict.Host == vtpmdetect.HostMetal:
		return good("the kernel's only; enough, since this is no VM that could be restored from a memory snapshot")
	}
	return warning("virt-xml DOMAIN --edit --cpu host-passthrough",
		"the kernel's only: a restored memory snapshot can repeat names; have the hypervisor show the CPU's RDRAND or RNDR")
}
