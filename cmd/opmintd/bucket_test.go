package main

import (
	"context"
	"errors"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/opmint/opmint/api"
)

// fake is a counter that counts, unless it fails.
type fake struct {
	value uint64
	err   error
}

func (f *fake) Next(context.Context) (uint64, error) {
	if f.err != nil {
		return 0, f.err
	}
	f.value++
	return f.value, nil
}

func (f *fake) CanClaim(context.Context) error { return f.err }

func TestBucket(t *testing.T) {
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	f := &fake{}
	b := &bucket{counter: f, now: func() time.Time { return now }}
	claim := func(want uint64, wait time.Duration) {
		t.Helper()
		can := b.CanClaim(t.Context())
		got, err := b.Next(t.Context())
		if (can == nil) != (err == nil) {
			t.Errorf("it could claim: %v, it claimed: %v", can, err)
		}
		if want > 0 {
			if got != want || err != nil {
				t.Errorf("%d, %v, want %d", got, err, want)
			}
			return
		}
		problem, ok := errors.AsType[*api.Problem](err)
		if !ok || !errors.Is(err, api.ErrOverloaded) || problem.Status != 503 || problem.RetryAfter != wait {
			t.Errorf("%v (%+v), want an empty bucket for %v", err, problem, wait)
		}
	}
	claim(1, 0) // the start's
	for n := uint64(2); n <= 5; n++ {
		claim(n, 0)
	}
	claim(0, 15*time.Minute)
	now = now.Add(15*time.Minute - 1)
	claim(0, 1)
	now = now.Add(1)
	claim(6, 0)
	claim(0, 15*time.Minute)
	now = now.Add(24 * time.Hour)
	for n := uint64(7); n <= 10; n++ {
		claim(n, 0)
	}
	claim(0, 15*time.Minute)

	// A counter that says beforehand that it fails draws nothing.
	now = now.Add(15 * time.Minute)
	f.err = errors.New("gone")
	for range 10 {
		if _, err := b.Next(t.Context()); !errors.Is(err, f.err) {
			t.Errorf("%v, want %v", err, f.err)
		}
	}
	f.err = nil
	claim(11, 0)
}

// TestBucketBound claims at random times: in no span of time are more claims than
// the bucket holds and fills by.
func TestBucketBound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
		b := &bucket{counter: &fake{}, now: func() time.Time { return now }, started: true}
		var claims []time.Time
		for _, pause := range rapid.SliceOf(rapid.IntRange(0, 40)).Draw(t, "pauses in minutes") {
			now = now.Add(time.Duration(pause) * time.Minute)
			if _, err := b.Next(context.Background()); err == nil {
				claims = append(claims, now)
			}
		}
		for i, from := range claims {
			for j, to := range claims[i:] {
				if most := bucketSize + int(to.Sub(from)/bucketInterval); j+1 > most {
					t.Fatalf("%d claims from %v to %v, want at most %d", j+1, from, to, most)
				}
			}
		}
	})
}
