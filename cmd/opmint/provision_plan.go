package main

import (
	"context"
	"fmt"
	"io"

	"github.com/opmint/opmint/api"
	"github.com/opmint/opmint/tpm"
)

// A provisionPlan is what was found and what will be done about it.
type provisionPlan struct {
	cfg     tpm.CounterConfig
	counter *tpm.Counter
	found   tpm.Status
	steps   []provisionStep // none if there is nothing to do
}

// A provisionStep is one thing that will be done.
type provisionStep struct {
	name string // when it has been done, in JSON
	will string // for people, after "will"
	do   func(context.Context) error
	did  func() bool // whether do found anything to do; nil: always
}

// planProvision looks at the index and the state folder and changes neither.
func planProvision(ctx context.Context, cfg tpm.CounterConfig, newIndex bool) (*provisionPlan, error) {
	makeFolder, err := missingFolder(cfg.StateDir)
	if err != nil {
		return nil, err
	}
	counter, err := tpm.NewCounter(cfg)
	if err != nil {
		return nil, err
	}
	found, err := counter.Status(ctx)
	if err != nil {
		return nil, err
	}
	p := &provisionPlan{cfg: cfg, counter: counter, found: found}
	if err := p.refusal(newIndex); err != nil {
		return nil, err
	}
	if makeFolder {
		p.steps = append(p.steps, provisionStep{"state-folder-made", "make the state folder " + cfg.StateDir,
			func(context.Context) error { return api.MakeStateFolder(cfg.StateDir) }, nil})
	}
	p.steps = append(p.steps, p.indexSteps(newIndex)...)
	return p, nil
}

// refusal says why nothing will be done, if that is so.
func (p *provisionPlan) refusal(newIndex bool) error {
	problem := p.found.Problem
	if p.found.State == tpm.AuthLost {
		if newIndex {
			return nil
		}
		problem = fmt.Errorf("%w; or say the --state with which the index was made", problem)
	}
	if problem != nil {
		return fmt.Errorf("NV index 0x%08x: %w", p.found.Index, problem)
	}
	return nil
}

// indexSteps are the steps that change the TPM.
func (p *provisionPlan) indexSteps(newIndex bool) []provisionStep {
	remove := provisionStep{"index-deleted", "delete the index: its incarnation ends, and with it the identity",
		p.counter.Undefine, p.counter.Changed}
	if p.found.State == tpm.AuthLost {
		remove.will += ", also that of another opmint that may use it"
	}
	define := provisionStep{"index-defined",
		"define the index and increment it for the first time, a number that nobody owns", p.counter.Define, p.counter.Changed}
	finish := provisionStep{"index-finished",
		"increment the index for the first time, a number that nobody owns", p.counter.Define, p.counter.Changed}
	switch {
	case p.found.State == tpm.Absent:
		return []provisionStep{define}
	case newIndex:
		return []provisionStep{remove, define}
	case p.found.State == tpm.Unfinished:
		return []provisionStep{finish}
	}
	return nil
}

// describe tells people what was found and what will be done. That they cannot
// be told is no reason to do nothing.
func (p *provisionPlan) describe(w io.Writer) {
	fmt.Fprintf(w, "TPM %v, NV index 0x%08x: %v", p.cfg.Device, p.found.Index, p.found.State)
	if p.found.State == tpm.Ready {
		fmt.Fprintf(w, ", counter %d", p.found.Value)
	}
	fmt.Fprintln(w)
	for _, s := range p.steps {
		fmt.Fprintln(w, "will", s.will)
	}
	if len(p.steps) == 0 {
		fmt.Fprintln(w, "nothing to do")
	}
}
