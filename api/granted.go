package api

import (
	"sync/atomic"
	"time"

	"github.com/opmint/opmint/keygen"
)

// Sizes of what a Minter takes, in names.
const (
	runLength  = 1024 // of a lease, by one goroutine
	smallLease = 4 * runLength
)

// granted is a lease in the hands of a Minter.
type granted struct {
	*keygen.Lease
	connected *connection
	taken     instant       // before it was asked for
	life      time.Duration // from then on

	ended      atomic.Bool // its time is over
	prefetched atomic.Bool // its successor was asked for
	_          [64]byte    // keeps what all goroutines write away from what all read
	next       atomic.Uint64
}

// instant is what the clocks say.
type instant struct{ monotonic, wall time.Duration }

// someTime is where the monotonic clock counts from.
var someTime = time.Now()

func now() instant {
	t := time.Now()
	return instant{monotonic: t.Sub(someTime), wall: time.Duration(t.UnixNano())}
}

// age returns how long ago the lease was taken, by the clock that says longer. A
// machine that slept shows in the wall clock only.
func (g *granted) age(now instant) time.Duration {
	return max(now.monotonic-g.taken.monotonic, now.wall-g.taken.wall)
}

// good reports whether names may be minted from the lease now. Once it is not good
// it never is again, wherever the clocks go.
func (g *granted) good(now instant) bool {
	if g.age(now) >= g.life {
		g.ended.Store(true)
	}
	return !g.ended.Load() && !g.connected.over.Load()
}

// used returns how many names have been taken.
func (g *granted) used() uint64 { return min(g.next.Load(), g.Count()) }

// take takes up to runLength names; there are none left if n is 0.
func (g *granted) take() (i, n uint64) {
	// Asking before adding bounds how far next can run beyond the end.
	if g.used() == g.Count() {
		return 0, 0
	}
	i = g.next.Add(runLength) - runLength
	if i >= g.Count() {
		return 0, 0
	}
	return i, min(runLength, g.Count()-i)
}

// spent reports whether a successor will be needed soon.
func (g *granted) spent(now instant) bool {
	return g.used() > g.Count()/2 || g.age(now) > g.life*3/4
}

// successor returns how large the next lease should be: twice as large as this one
// if more than half of it is used already, else twice what is used.
func (g *granted) successor() uint64 {
	size := 2 * g.used()
	if size > g.Count() {
		size = 2 * g.Count()
	}
	return max(smallLease, min(size, MaxLease))
}
