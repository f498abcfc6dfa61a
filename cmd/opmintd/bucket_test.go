package main

import (
	"errors"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/opmint/opmint/api"
)

func TestBucket(t *testing.T) {
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	b := &bucket{now: func() time.Time { return now }, size: bucketSize, interval: bucketInterval}
	draws := func(times int) {
		t.Helper()
		for range times {
			if can, err := b.draw(0), b.draw(1); can != nil || err != nil {
				t.Errorf("it could be drawn: %v, it was drawn: %v", can, err)
			}
		}
	}
	empty := func(wait time.Duration) {
		t.Helper()
		for n := range time.Duration(2) {
			err := b.draw(n)
			problem, ok := errors.AsType[*api.Problem](err)
			if !ok || !errors.Is(err, api.ErrOverloaded) || problem.Status != 503 || problem.RetryAfter != wait {
				t.Errorf("%v (%+v), want an empty bucket for %v", err, problem, wait)
			}
		}
	}
	draws(4)
	empty(15 * time.Minute)
	now = now.Add(15*time.Minute - 1)
	empty(1)
	now = now.Add(1)
	draws(1)
	empty(15 * time.Minute)
	now = now.Add(24 * time.Hour)
	draws(4)
	empty(15 * time.Minute)
}

// TestBucketBound draws at random times: in no span of time is more drawn than the
// bucket holds and fills by.
func TestBucketBound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
		b := &bucket{now: func() time.Time { return now }, size: bucketSize, interval: bucketInterval}
		var claims []time.Time
		for _, pause := range rapid.SliceOf(rapid.IntRange(0, 40)).Draw(t, "pauses in minutes") {
			now = now.Add(time.Duration(pause) * time.Minute)
			if b.draw(1) == nil {
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
