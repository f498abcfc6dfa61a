package main

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// TestReaderShares has many who ask while a reading is under way: one more reading
// is enough for all of them, and it begins after they have asked.
func TestReaderShares(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		readings := uint64(0)
		r := newReader(func(context.Context) (uint64, error) {
			readings++
			begun := readings
			time.Sleep(time.Second)
			return begun, nil
		})
		ask := func(want uint64) {
			if got, err := r.read(t.Context()); got != want || err != nil {
				t.Errorf("read %d, %v, want %d", got, err, want)
			}
		}
		go ask(1)
		synctest.Wait()
		for range 100 {
			go ask(2)
		}
		time.Sleep(3 * time.Second)
		ask(3)
		if readings != 3 {
			t.Errorf("%d readings, want 3", readings)
		}
	})
}

// TestReaderBounds has a counter that hangs: the reading ends in time, and who
// does not want to wait so long does not.
func TestReaderBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReader(func(ctx context.Context) (uint64, error) {
			<-ctx.Done()
			return 0, ctx.Err()
		})
		begin := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := r.read(ctx); !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) != time.Second {
			t.Errorf("%v after %v", err, time.Since(begin))
		}
		// This one waits for the end of the first reading and for its own.
		if _, err := r.read(t.Context()); !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) != 2*readTime {
			t.Errorf("%v after %v", err, time.Since(begin))
		}
	})
}
