//go:build !linux

package ledger

import "time"

func (systemClock) Boot() time.Duration { return sinceStart() }
