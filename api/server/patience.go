package server

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// patience is the context that answer.within returns, made when it is first asked
// for anything: most leases claim no epoch, and need neither a timer nor a deadline.
// Whether one does is known only to the Minter, and only while it takes the lease.
type patience struct {
	answer *answer

	once   sync.Once
	made   atomic.Bool // by once
	within context.Context
	cancel context.CancelFunc
}

func (p *patience) context() context.Context {
	p.once.Do(func() {
		p.within, p.cancel = p.answer.within()
		p.made.Store(true)
	})
	return p.within
}

// end frees what there is of the context.
func (p *patience) end() {
	p.once.Do(func() { p.within, p.cancel = context.Background(), func() {} })
	p.cancel()
}

// Deadline implements [context.Context].
func (p *patience) Deadline() (time.Time, bool) { return p.context().Deadline() }

// Done implements [context.Context].
func (p *patience) Done() <-chan struct{} { return p.context().Done() }

// Err implements [context.Context]. Before it is made, the context has not ended.
func (p *patience) Err() error {
	if !p.made.Load() {
		return nil
	}
	return p.within.Err()
}

// Value implements [context.Context].
func (p *patience) Value(key any) any { return p.context().Value(key) }
