package journal

import (
	"context"
	"fmt"
	"time"
)

// maxStop is how much of the wall clock's time counts across one stop.
const maxStop = time.Hour

const clockKey = "clock"

// clockRecord is how far the journal's own time was, and what the wall clock
// showed then.
type clockRecord struct {
	Time uint64    `json:"time"` // in milliseconds
	Wall time.Time `json:"wall"`
}

func (r *clockRecord) valid() error { return validTime(r.Wall) }

// clock is the time by which intents are forgotten: it goes on with the boot-time
// clock, which nobody sets, and across a stop with the wall clock, but an hour at
// most. So it can be late, and a wrong clock makes it early by an hour at most.
type clock struct {
	boot  func() time.Duration
	began time.Duration // of boot
	start uint64        // what the time was then, in milliseconds
}

// openClock goes on from where the journal's time was.
func openClock(ctx context.Context, from reader, boot func() time.Duration, wall time.Time) (*clock, error) {
	c := &clock{boot: boot, began: boot()}
	var r clockRecord
	found, err := loadFrom(ctx, from, clockKey, &r)
	if err != nil {
		return nil, fmt.Errorf("read the journal's time: %w", err)
	}
	if found {
		c.start = r.Time + uint64(min(max(0, wall.Sub(r.Wall)), maxStop)/time.Millisecond)
	}
	return c, nil
}

// now returns the time in milliseconds.
func (c *clock) now() uint64 { return c.start + uint64(max(0, c.boot()-c.began)/time.Millisecond) }
