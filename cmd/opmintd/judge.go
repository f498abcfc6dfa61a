package main

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	"github.com/opmint/opmint/keygen"
	"github.com/opmint/opmint/tpm"
	"github.com/opmint/opmint/vtpmdetect"
)

// A judgement is the class in which names are minted, and why.
type judgement struct {
	class   keygen.Class
	assumed bool // the class is the operator's word
	report  vtpmdetect.Report
}

// judge looks at the machine and at the TPM, which is nil if there is none.
func (o *options) judge(ctx context.Context, d *tpm.Device) judgement {
	machine := vtpmdetect.LocalMachine()
	if d != nil {
		machine.TPM = vtpmdetect.Ask(ctx, d)
	}
	return o.conclude(vtpmdetect.Examine(machine), d)
}

// conclude chooses the class: the operator's word stands above the verdict.
func (o *options) conclude(r vtpmdetect.Report, d *tpm.Device) judgement {
	if d == nil {
		return judgement{class: keygen.ClassJ, report: r}
	}
	r.Doubt()
	j := judgement{class: keygen.ClassV, assumed: o.assume.value != "", report: r}
	physical := r.Verdict.Class == vtpmdetect.ClassH
	if j.assumed {
		physical = o.assume.value == "physical"
	}
	if physical {
		j.class = keygen.ClassH
	}
	return j
}

// reasons says why the verdict is what it is, on one line.
func (j *judgement) reasons() string {
	var why []string
	for _, r := range j.report.Verdict.Reasons {
		why = append(why, r.Why)
	}
	return strings.Join(why, "; ")
}

// tell writes the judgement down in the log, and loudly what it rests on that
// nobody has seen.
func (j *judgement) tell(log *slog.Logger) {
	v := j.report.Verdict
	log.Info("judged the machine", "tpm", v.TPM, "host", v.Host, "verdict", v.Class, "reasons", j.reasons())
	if j.assumed {
		log.Warn("the class is the operator's word; where it is wrong, names can repeat",
			"class", j.class, "verdict", v.Class)
		return
	}
	if j.class != keygen.ClassH {
		return
	}
	var unseen []string
	for _, gap := range j.report.Gaps {
		if gap.Root {
			unseen = append(unseen, fmt.Sprintf("%s (%s)", gap.Signal, gap.Path))
		}
	}
	if len(unseen) > 0 {
		log.Warn("names are of class h though not all could be seen that may speak against it: root could have seen it",
			"unseen", strings.Join(unseen, ", "))
	}
}
