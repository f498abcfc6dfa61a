package main

import (
	"io"
	"log/slog"
	"sync"

	"github.com/opmint/opmint/keygen"
)

// random is [keygen.FreshRandom], and says once in the log if it is not fresh.
type random struct {
	freshRandom
	log  *slog.Logger
	once sync.Once
}

// freshRandom is a [keygen.FreshRandom].
type freshRandom interface {
	io.Reader
	Fresh() bool
}

func newRandom(log *slog.Logger) *random {
	return &random{freshRandom: keygen.NewFreshRandom(), log: log}
}

// Read fills p.
func (r *random) Read(p []byte) (int, error) {
	n, err := r.freshRandom.Read(p)
	if !r.Fresh() {
		r.once.Do(func() {
			r.log.Warn("the CPU has no generator of random numbers, or it is stuck: " +
				"where the machine's memory is restored from a snapshot, names can repeat")
		})
	}
	return n, err
}
