package ledger

import (
	"sync"
	"time"
)

// maxStop is how much of a stop counts, by a wall clock that may be wrong.
const maxStop = int64(time.Hour / time.Millisecond)

// timer is the ledger's time while it is open.
type timer struct {
	clock Clock
	mu    sync.Mutex
	boot  time.Duration // the clock's at base
	base  int64         // the ledger's time then
}

// newTimer goes on where the ledger's time was when the last commit was made.
func newTimer(clock Clock, h *head) *timer {
	stop := min(max(millisOf(clock.Wall())-h.wall, 0), maxStop)
	return &timer{clock: clock, boot: clock.Boot(), base: h.time + stop}
}

// now returns the ledger's time. It is never before least, which another process may
// have written.
func (t *timer) now(least int64) int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.base + int64((t.clock.Boot()-t.boot)/time.Millisecond)
	if now < least {
		t.base += least - now
		now = least
	}
	return min(now, maxMillis)
}

func (t *timer) wall() int64 { return millisOf(t.clock.Wall()) }

// systemClock is the machine's.
type systemClock struct{}

func (systemClock) Wall() time.Time { return time.Now() }

var start = time.Now()

// sinceStart is the time that Go knows, by a clock that only goes forward.
func sinceStart() time.Duration { return time.Since(start) }
