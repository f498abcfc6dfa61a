package vtpmdetect

import (
	"errors"
	"io"
	"sync/atomic"
	"syscall"
)

// clockSteps counts how often the wall clock was set.
type clockSteps struct {
	count   atomic.Uint64
	timer   io.ReadCloser
	closing atomic.Bool
	done    chan struct{} // closed when counting has ended
	err     error         // why it ended before close
}

// countClockSteps counts until close. A read from the timer blocks until the
// clock is set, and then fails with ECANCELED.
func countClockSteps(timer io.ReadCloser) *clockSteps {
	c := &clockSteps{timer: timer, done: make(chan struct{})}
	go c.run()
	return c
}

func (c *clockSteps) run() {
	defer close(c.done)
	for expirations := make([]byte, 8); ; {
		_, err := c.timer.Read(expirations)
		if c.closing.Load() {
			return
		}
		// Whatever else ends the counting may have hidden a step.
		c.count.Add(1)
		if err != nil && !errors.Is(err, syscall.ECANCELED) {
			c.err = err
			return
		}
	}
}

// close ends the counting. Its error is that of the timer, too.
func (c *clockSteps) close() error {
	c.closing.Store(true)
	err := c.timer.Close()
	<-c.done
	return errors.Join(c.err, err)
}
