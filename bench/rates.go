package main

import (
	"fmt"
	"runtime"
	"strings"
)

// comparison is a row of a table of rates: how often one subject does what it
// does, and how often another.
type comparison struct {
	ours, theirs *subject // theirs may be nil: then there is no ratio
	target       float64  // the least ratio, or the least rate where there is none; 0 is no target
}

// rate returns how often, in a second, the subject does what it does.
func (s *subject) rate() float64 { return 1e9 / s.nanoseconds() }

// ratesMarkdown returns the measured table of comparisons.
func (t *table) ratesMarkdown() string {
	var b strings.Builder
	b.WriteString("| what | a second | against | a second | ratio | target |\n|---|---:|---|---:|---:|---|\n")
	for _, c := range t.comparisons {
		fmt.Fprintf(&b, "| %s | %s |", c.ours.title(), perSecond(c.ours.rate()))
		if c.theirs == nil {
			fmt.Fprintf(&b, "  |  |  | %s |\n", reached(perSecond(c.target), c.ours.rate() >= c.target))
			continue
		}
		// The ratio of rates is the inverse of that of times.
		ratio := c.theirs.ratio(c.ours)
		fmt.Fprintf(&b, " %s | %s | %.2f | ", c.theirs.title(), perSecond(c.theirs.rate()), ratio)
		if c.target > 0 {
			b.WriteString(reached(fmt.Sprintf("%.2f", c.target), ratio >= c.target))
		}
		b.WriteString(" |\n")
	}
	fmt.Fprintf(&b, "\n%sMedians of %d rounds in turn, ratios taken within each round; %s, %s/%s, %d CPUs.\n",
		t.note, t.rounds, runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
	return b.String()
}

// reached says whether what is wanted at least was reached.
func reached(least string, ok bool) string {
	if ok {
		return "≥ " + least + ": reached"
	}
	return "≥ " + least + ": **missed**"
}

// perSecond writes a rate.
func perSecond(rate float64) string {
	switch n := int(rate + 0.5); {
	case n >= 1e6:
		return fmt.Sprintf("%.2f million", rate/1e6)
	case n >= 1e3:
		return fmt.Sprintf("%d,%03d", n/1e3, n%1e3)
	default:
		return fmt.Sprint(n)
	}
}
