package journal

import (
	"context"
	"time"
)

// KeepStep takes one step of Keep.
func (in *Intents) KeepStep(ctx context.Context) (wait time.Duration, err error) { return in.keep(ctx) }
