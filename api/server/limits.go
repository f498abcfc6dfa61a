package server

import (
	"cmp"
	"fmt"
	"net/http"
	"time"

	"golang.org/x/sys/unix"

	"github.com/opmint/opmint/api"
)

// Limits bound what clients can take of the daemon, each user (uid) for itself.
// 0 stands for the default.
type Limits struct {
	Connections int // of a user at a time; default 1,024
	Requests    int // of a user in flight; default 256
	Names       int // for a user in a second, leased ones too, 1 to 10^9; default 10^9

	// AllConnections is how many connections there are for all users together;
	// default 4,096, and never more than the process has descriptors for, less 128.
	AllConnections int
}

// What Limits does not set.
const (
	maxNamesRate  = 1_000_000_000
	ownDescriptor = 128       // kept for the daemon's own files and clients turned away
	ownerReserve  = 16        // connections that only root and the daemon's user get
	bodiesOfOne   = 32 << 20  // bytes of large bodies that a user has in memory at a time
	bodiesOfAll   = 128 << 20 // and all users together
	smallBody     = 16 << 10  // bytes of a body that count as part of its request
	limitRetry    = time.Second
)

// withDefaults returns l with all limits set.
func (l Limits) withDefaults() Limits {
	l.Connections = cmp.Or(l.Connections, 1024)
	l.Requests = cmp.Or(l.Requests, 256)
	l.Names = min(cmp.Or(l.Names, maxNamesRate), maxNamesRate)
	l.AllConnections = min(cmp.Or(l.AllConnections, 4096), descriptors())
	return l
}

// descriptors returns how many connections the process has descriptors for.
func descriptors() int {
	var nofile unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &nofile); err != nil {
		return ownDescriptor
	}
	own := min(ownDescriptor, nofile.Cur/2)
	return int(min(nofile.Cur-own, 1<<20))
}

// overloaded returns an api.ErrOverloaded: with status 429 a limit of the
// caller's, with status 503 one of the daemon's.
func overloaded(status int, wait time.Duration, format string, args ...any) error {
	p := api.NewProblem(api.ErrOverloaded)
	p.Status, p.RetryAfter = status, wait
	return fmt.Errorf("%w: %s", p, fmt.Sprintf(format, args...))
}

// A pool is a stock that all users draw from. Who has something of it already gets
// more only if as much is left over as he then has. So n users who take all they
// can get have 1/(n+1) of it each, and there is always something for another one.
type pool struct {
	what     string
	left     int64
	reserved int64 // of left, for root and the daemon's user
	ofOne    int64 // the most that a user can have
}

// take takes n for a user who has so much already, or says why not.
func (p *pool) take(have *int64, n int64, owner bool) error {
	then := *have + n
	if then > p.ofOne {
		return overloaded(http.StatusTooManyRequests, limitRetry, "you have %d %s, and can have %d", *have, p.what, p.ofOne)
	}
	left := p.left - n
	if !owner {
		left -= p.reserved
	}
	if left < 0 || *have > 0 && then > left {
		return overloaded(http.StatusServiceUnavailable, limitRetry, "there are too many %s", p.what)
	}
	*have = then
	p.left -= n
	return nil
}

// give gives n back.
func (p *pool) give(have *int64, n int64) {
	*have -= n
	p.left += n
}
