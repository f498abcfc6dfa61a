package main

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"time"
)

// table is what is measured side by side. Its rows are its subjects, the first of
// which is the baseline; or its comparisons, if it has any.
type table struct {
	id          string // as in its markers, such as "names"
	subjects    []*subject
	comparisons []comparison // of subjects
	note        string       // what the table does not say, or ""
	rounds      int
}

// subject is what is measured.
type subject struct {
	name string // of what is measured, as in the source
	note string // more about it, or ""

	// run does what is measured n times, and each time counts as so many; 0 is 1.
	run  func(n int) error
	each int

	// maxRatio is the time to stay within, as a part of the baseline's; 0 is no
	// target. noAllocs is the target of no allocations.
	maxRatio float64
	noAllocs bool

	times    []time.Duration // of perRound operations, one a round
	allocs   float64         // for each operation, the fewest of all rounds
	perRound int
}

// measure measures each subject in turn, for about length, so many rounds.
func (t *table) measure(ctx context.Context, rounds int, length time.Duration) error {
	t.rounds = rounds
	for _, s := range t.subjects {
		if err := s.calibrate(length); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	order := slices.Clone(t.subjects)
	for range rounds {
		for _, s := range order {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if err := s.round(); err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
		}
		slices.Reverse(order) // who runs after whom matters a little
	}
	return nil
}

// calibrate finds how many operations take about length.
func (s *subject) calibrate(length time.Duration) error {
	for n := 1; ; n *= 2 {
		took, err := s.fastest(n)
		if err != nil {
			return err
		}
		if took >= length/8 {
			s.perRound = max(1, int(float64(n)*float64(length)/float64(took)))
			return nil
		}
	}
}

// fastest returns the least time that n operations take in a few attempts: of one
// that was disturbed, a round would get too few operations to say anything.
func (s *subject) fastest(n int) (time.Duration, error) {
	least := time.Duration(math.MaxInt64)
	for range 3 {
		start := time.Now()
		if err := s.run(n); err != nil {
			return 0, err
		}
		least = min(least, time.Since(start))
	}
	return least, nil
}

// round measures s once.
func (s *subject) round() error {
	var before, after runtime.MemStats
	runtime.GC() // so that no subject pays for another's garbage
	runtime.ReadMemStats(&before)
	start := time.Now()
	if err := s.run(s.perRound); err != nil {
		return err
	}
	took := time.Since(start)
	runtime.ReadMemStats(&after)
	allocs := float64(after.Mallocs-before.Mallocs) / float64(s.perRound)
	if len(s.times) == 0 || allocs < s.allocs {
		s.allocs = allocs
	}
	s.times = append(s.times, took)
	return nil
}

// nanoseconds returns the median time of one operation.
func (s *subject) nanoseconds() float64 {
	all := make([]float64, len(s.times))
	for i := range all {
		all[i] = s.nanosecondsIn(i)
	}
	return median(all)
}

// nanosecondsIn returns the time of one operation in a round.
func (s *subject) nanosecondsIn(round int) float64 {
	return float64(s.times[round].Nanoseconds()) / float64(s.perRound*max(1, s.each))
}

// ratio returns the median of the ratios to base in each round, which a machine
// that is slower in some rounds than in others does not change.
func (s *subject) ratio(base *subject) float64 {
	all := make([]float64, len(s.times))
	for i := range all {
		all[i] = s.nanosecondsIn(i) / base.nanosecondsIn(i)
	}
	return median(all)
}

func median(all []float64) float64 {
	slices.Sort(all)
	return all[len(all)/2]
}

// target says what the subject has to reach, and whether it did.
func (s *subject) target(ratio float64) string {
	var wants []string
	reached := true
	if s.maxRatio > 0 {
		wants = append(wants, fmt.Sprintf("≤ %.2f", s.maxRatio))
		reached = ratio <= s.maxRatio
	}
	if s.noAllocs {
		wants = append(wants, "0 allocs")
		reached = reached && s.allocs < 0.005
	}
	switch {
	case len(wants) == 0:
		return ""
	case reached:
		return strings.Join(wants, ", ") + ": reached"
	}
	return strings.Join(wants, ", ") + ": **missed**"
}

// title is what the subject is called in a table.
func (s *subject) title() string {
	if s.note == "" {
		return s.name
	}
	return s.name + ", " + s.note
}

// markdown returns the measured table.
func (t *table) markdown() string {
	if t.comparisons != nil {
		return t.ratesMarkdown()
	}
	var b strings.Builder
	fmt.Fprintf(&b, "| what | ns | of %s | allocs | target |\n|---|---:|---:|---:|---|\n", t.subjects[0].name)
	for _, s := range t.subjects {
		ratio := s.ratio(t.subjects[0])
		fmt.Fprintf(&b, "| %s | %.1f | %.2f | %.0f | %s |\n", s.title(), s.nanoseconds(), ratio, s.allocs, s.target(ratio))
	}
	fmt.Fprintf(&b, "\nMedians of %d rounds in turn, ratios taken within each round; %s, %s/%s, %d CPUs.\n",
		t.rounds, runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
	return b.String()
}
