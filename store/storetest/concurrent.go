package storetest

import (
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing"

	"github.com/opmint/opmint/store"
)

const writers = 64

// together calls f in as many goroutines at once and waits for all.
func together(n int, f func(i int)) {
	var wait sync.WaitGroup
	start := make(chan struct{})
	for i := range n {
		wait.Go(func() {
			<-start
			f(i)
		})
	}
	close(start)
	wait.Wait()
}

// counters lets all writers add to a few counters by compare-and-swap: none
// of the additions may be lost, and none happen that was refused.
func counters(t *testing.T, place Place) {
	const keys, additions = 8, 16
	s := open(t, place)
	together(writers, func(i int) {
		shared, own := fmt.Sprint("shared ", i%keys), fmt.Sprint("own ", i)
		for n := 0; n < additions; {
			value, err := s.Get(t.Context(), []byte(shared))
			if err != nil {
				t.Errorf("Get: %v", err)
				return
			}
			old, _ := strconv.Atoi(string(value))
			err = s.Commit(t.Context(), []store.Check{{Key: []byte(shared), Value: value}},
				writesOf(shared, strconv.Itoa(old+1), own, strconv.Itoa(n+1)))
			switch {
			case err == nil:
				n++
			case !errors.Is(err, store.ErrConflict):
				t.Errorf("Commit: %v", err)
				return
			}
		}
	})
	closeStore(t, s)
	s = opened(t, place)
	for i := range keys {
		if got, want := get(t, s, fmt.Sprint("shared ", i)), strconv.Itoa(writers/keys*additions); got != want {
			t.Errorf("shared counter %d is %s, want %s", i, got, want)
		}
	}
	for i := range writers {
		if got, want := get(t, s, fmt.Sprint("own ", i)), strconv.Itoa(additions); got != want {
			t.Errorf("counter of writer %d is %s, want %s", i, got, want)
		}
	}
}

// oneWinner lets all writers create one record.
func oneWinner(t *testing.T, place Place) {
	s := opened(t, place)
	for round := range 8 {
		key := fmt.Sprint("key ", round)
		won := make([]bool, writers)
		together(writers, func(i int) {
			err := s.Commit(t.Context(), checksOf(key, ""), writesOf(key, fmt.Sprint(i), fmt.Sprint("also ", round, i), "v"))
			if won[i] = err == nil; !won[i] && !errors.Is(err, store.ErrConflict) {
				t.Errorf("Commit: %v, want ErrConflict", err)
			}
		})
		also := scanAll(t, s, fmt.Sprint("also ", round), "", 10)
		if len(also) != 2 {
			t.Fatalf("round %d: %d winners", round, len(also)/2)
		}
		for i := range writers {
			if won[i] != (get(t, s, key) == fmt.Sprint(i)) {
				t.Errorf("round %d: Commit told writer %d %v, but %q won", round, i, won[i], get(t, s, key))
			}
		}
	}
}

// oneMoment lets readers watch two records that always change together, and
// never backwards.
func oneMoment(t *testing.T, place Place) {
	s := opened(t, place)
	const changes = 200
	put(t, s, "a", "0", "b", "0")
	together(5, func(i int) {
		if i == 0 {
			for n := range changes {
				value := fmt.Sprint(n + 1)
				if err := s.Commit(t.Context(), nil, writesOf("a", value, "b", value)); err != nil {
					t.Errorf("Commit: %v", err)
				}
			}
			return
		}
		for last := 0; last < changes && !t.Failed(); {
			records, err := s.Scan(t.Context(), nil, nil, 2)
			if err != nil || len(records) != 2 || string(records[0].Value) != string(records[1].Value) {
				t.Errorf("Scan = %q, %v", records, err)
				return
			}
			seen, _ := strconv.Atoi(string(records[0].Value))
			if seen < last {
				t.Errorf("Scan saw %d after %d", seen, last)
			}
			last = seen
		}
	})
}
