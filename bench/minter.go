package main

import (
	"context"
	"fmt"
	"sync"

	"github.com/google/uuid"

	"github.com/opmint/opmint/api"
	"github.com/opmint/opmint/keygen"
)

// minterTarget is how many names a program's Minter makes, at least, in the time
// of one UUID.
const minterTarget = 4

// compareMinter adds names that a program mints itself, from the daemon's leases.
func (t *table) compareMinter(s *servers) {
	client := api.Client{Socket: s.opmintd}
	minter := client.Minter() // its connection ends with the daemon
	for _, goroutines := range []int{1, 8} {
		note := fmt.Sprintf("goroutines: %d", goroutines)
		ours := t.add(&subject{
			name: "Minter.AppendName", note: note, run: inParallel(goroutines, func(n int) error { return appendNames(minter, n) }),
		})
		theirs := t.add(&subject{name: "google/uuid NewString", note: note, run: inParallel(goroutines, newStrings)})
		t.against(ours, theirs, minterTarget)
	}
}

// inParallel splits the work of run among goroutines.
func inParallel(goroutines int, run func(n int) error) func(int) error {
	return func(n int) error {
		errs := make([]error, goroutines)
		var all sync.WaitGroup
		for i := range errs {
			all.Go(func() { errs[i] = run((n + i) / goroutines) })
		}
		all.Wait()
		for _, err := range errs {
			if err != nil {
				return fmt.Errorf("one of %d: %w", goroutines, err)
			}
		}
		return nil
	}
}

func appendNames(minter *api.Minter, n int) error {
	buf := make([]byte, 0, keygen.Length)
	for range n {
		var err error
		if buf, err = minter.AppendName(context.Background(), buf[:0]); err != nil {
			return err
		}
	}
	return nil
}

func newStrings(n int) error {
	var text string
	for range n {
		text = uuid.NewString()
	}
	if n > 0 && len(text) != 36 {
		return fmt.Errorf("a UUID of %d characters", len(text))
	}
	return nil
}
