package journal_test

import (
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/opmint/opmint/journal"
	"github.com/opmint/opmint/keygen"
	"github.com/opmint/opmint/store"
)

// TestManyCallers: 64 callers with a hundred intents each, half of them everybody's,
// in a stream and in none: one name for each, given once.
func TestManyCallers(t *testing.T) {
	s, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "journal"), store.Options{Kind: store.Journal})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	m := remembering(t, s, newClocks())
	m.MaxIntents = 1 << 20
	const callers, each = 64, 100
	var given, numbered atomic.Int64
	var names, seqs sync.Map
	var wait sync.WaitGroup
	for caller := range callers {
		wait.Go(func() {
			for i := range each {
				intent := fmt.Sprint(i)
				if i%2 == 0 {
					intent += fmt.Sprint(" of ", caller)
				}
				got, err := m.Name(t.Context(), 1, journal.Ask{Intent: intent})
				if err != nil {
					t.Error(err)
					return
				}
				if before, ok := names.LoadOrStore(got.Name, intent); ok && before != intent {
					t.Errorf("%s is given to %q and %q", got.Name, before, intent)
				}
				if !got.Replayed {
					given.Add(1)
				}
				n, err := m.Number(t.Context(), 1, "s", intent)
				if err != nil {
					t.Error(err)
					return
				}
				if before, ok := seqs.LoadOrStore(n.Seq, intent); ok && before != intent {
					t.Errorf("%d is given to %q and %q", n.Seq, before, intent)
				}
				if !n.Replayed {
					numbered.Add(1)
				}
			}
		})
	}
	wait.Wait()
	const want = callers*each/2 + each/2
	if given.Load() != want || numbered.Load() != want {
		t.Errorf("%d names and %d numbers are new, want %d", given.Load(), numbered.Load(), want)
	}
	for seq := range uint64(want) {
		if _, ok := seqs.Load(seq); !ok {
			t.Errorf("number %d is missing", seq)
		}
	}
	names.Range(func(name, _ any) bool {
		if name.(keygen.Name).Class() != keygen.ClassJ {
			t.Errorf("name %s", name)
		}
		return true
	})
}
