package server

import (
	"context"
	"sync"
	"time"
)

// patience is the context that answer.within returns, made when it is first asked
// for anything: most leases claim no epoch, and need neither a timer nor a deadline.
// Whether one does is known only to the Minter, and only while it takes the lease.
type patience struct {
	answer *answer

	once   sync.Once
	within context.Context
	cancel context.CancelFunc
}

func (p *patience) context() context.Context {
	p.once.Do(func() { p.within, p.cancel = p.answer.within() })
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

// Err implements [context.Context].
func (p *patience) Err() error { return p.context().Err() }

// Value implements [context.Context].
func (p *patience) Value(key any) any { return p.context().Value(key) }
