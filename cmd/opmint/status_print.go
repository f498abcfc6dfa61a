package main

import (
	"cmp"
	"fmt"
	"io"
	"time"

	"github.com/opmint/opmint/api"
	"github.com/opmint/opmint/keygen"
	"github.com/opmint/opmint/vtpmdetect"
)

// shownRollbacks is how many rollbacks fit on a screen.
const shownRollbacks = 5

// screen is lines of a key and what there is to say.
type screen struct {
	w   io.Writer
	err error // the first of w's
}

func (s *screen) line(key, format string, values ...any) {
	if s.err == nil {
		_, s.err = fmt.Fprintf(s.w, "%-9s %s\n", key, oneLine(fmt.Sprintf(format, values...)))
	}
}

// printStatus writes for people how the daemon is, on one screen.
func printStatus(w io.Writer, socket string, health *api.Health, id *api.Identity, ready string) error {
	s := &screen{w: w}
	s.line("daemon", "opmintd %s at %s, API level %d", health.Version, socket, health.API)
	s.line("class", "%v: %s", id.Class, promises[id.Class])
	if id.Assumed {
		s.line("assumed", "by the operator's word, not by what opmintd saw of the machine")
	}
	if v := id.Verdict; len(v.Reasons) > 0 {
		s.line("machine", "TPM %s, host %s: %s", v.TPM, v.Host, v.Reasons[0].Why)
	}
	if seen := id.Evidence.TPM; seen != nil && seen.Manufacturer != 0 {
		s.line("tpm", "%s", describeTPM(seen))
	}
	s.line("identity", "%v: whose names these are", id.Identity)
	s.line("epoch", "%d: the number of this start or renewal, under which names are minted", id.Epoch)
	s.line("counter", "%s", counterText(id))
	if id.FreshRandomness {
		s.line("random", "fresh: a restored memory snapshot does not repeat it")
	} else {
		s.line("random", "not fresh: without the CPU's generator, a restored memory snapshot can repeat names")
	}
	s.rollbacks(id.Rollbacks)
	s.line("ready", "%s", ready)
	return s.err
}

func describeTPM(t *vtpmdetect.TPM) string {
	text := "of maker " + maker(uint32(t.Manufacturer))
	if t.VendorString != nil {
		text += fmt.Sprintf(", %q", *t.VendorString)
	}
	if t.Driver != "" {
		text += ", driver " + t.Driver
	}
	return text
}

// counterText tells the counter, and of what life of the TPM it speaks: no counter
// has been written more often than it shows.
func counterText(id *api.Identity) string {
	switch {
	case id.Counter != nil:
		return fmt.Sprintf("%d: what the TPM's NV counter shows now; at most %.1f %% of some %d writes that a TPM survives",
			*id.Counter, 100*float64(*id.Counter)/endurance, endurance)
	case id.Class == keygen.ClassJ:
		return "none: there is no TPM"
	}
	return "unknown: the TPM's NV counter cannot be read now"
}

// meanings says what a rollback is, by what went back, and what follows from it.
var meanings = map[string]string{
	"tpm":        "the TPM went back in time, as with its VM; names are of class v until its counter is made anew",
	"journal":    "the journal is older than the TPM's counter: restored or lost, or somebody else counts",
	"generation": "the machine was restored from a snapshot, or cloned; names go on under another identity",
	"clock":      "the clock jumped, perhaps with the machine; names go on under another epoch",
	"ledger":     "the ledger was restored from a backup; what it may have forgotten is not applied again",
}

// forgets are the rollbacks after which the journal may have forgotten what was named.
var forgets = map[string]bool{"journal": true, "generation": true}

// rollbacks tells since when memory is unbroken, and the newest rollbacks.
func (s *screen) rollbacks(all []api.Rollback) {
	var since time.Time
	for _, r := range all {
		if forgets[r.What] && r.Time.After(since) {
			since = r.Time
		}
	}
	if since.IsZero() {
		s.line("memory", "unbroken, as far as can be noticed")
	} else {
		s.line("memory", "since %s: what was named before may be forgotten", since.Format(time.RFC3339))
	}
	if older := len(all) - shownRollbacks; older > 0 {
		s.line("rollback", "older ones: %d, with --json", older)
		all = all[older:]
	}
	for _, r := range all {
		s.line("rollback", "%s at %s: %s (seen %s, expected %s)", r.What, r.Time.Format(time.RFC3339),
			cmp.Or(meanings[r.What], "this version does not know what it means"),
			rollbackUnit(r.What, r.Seen), rollbackUnit(r.What, r.Expected))
	}
}

// rollbackUnit writes a value of a rollback in its unit.
func rollbackUnit(what string, value uint64) string {
	if what == "clock" {
		return time.UnixMilli(int64(value)).UTC().Format(time.RFC3339)
	}
	return fmt.Sprint(value)
}
