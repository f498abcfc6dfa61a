// Package server is the daemon's side of package api: HTTP and JSON on a Unix
// socket.
//
//	socket → conn, who is calling → route → handler → Minter.Lease → socket
//
// A [Server] mints with a [Minter] and knows the rest of the daemon as a [Source]. A
// [Ledger] remembers for receivers: where it fails, its requests are answered 503, and
// names are minted all the same.
// [Listen] makes the socket that it serves, and [Activated] takes over systemd's.
//
// # What it promises
//
// A handler first reads its request and touches nothing; only when the request
// is sound and its caller may make it, is anything done. So a request that is
// refused for what it asks or who asks uses up no seq and no NV write. Only where
// epochs are so small that an answer takes several, and one of them cannot be
// claimed, are the names that were minted before lost with the answer.
//
// Of several refusals the first is: of the path and the method (400, 404, 405), which
// are the same for everybody; of the parameters (400); of the caller (403), before
// a byte of the body is read; of the body (400, 413).
//
// Everything that goes wrong is answered as a problem (RFC 9457), also what
// net/http would answer in plain text before it asks any handler. An answer that
// cannot be completed is cut off, so that its reader sees an error: each states
// its length beforehand.
//
// Paths are taken as they came: split at the slashes, each segment decoded once,
// never cleaned and never redirected.
//
// # What no client can do
//
// The kernel says who is at the other end of a connection (SO_PEERCRED), and what
// clients take is bounded for each user, see [Limits]: what one user takes, another
// one still gets.
//
//	what                    of a user      of all users       beyond it
//	connections             1,024          4,096 or fewer     429 or 503, closed
//	requests in flight      256                               429
//	names, leased ones too  10^9 a second                     429
//	bytes of large bodies   32 MiB         128 MiB            429 or 503
//	intents, streams        as the Intents say                429
//	epochs                                 the Counter says   503
//
//	time for                a header  a request  a part of an answer  between requests
//	then it is closed       10 s      20 s       20 s                 2 min
//
// A limit of the user's own is status 429, one of the daemon's 503, both with the
// code overloaded and with Retry-After. So has what the daemon cannot do now
// (unavailable), unless its counter is of no use any more. Of what there is for all, a user gets more
// only if as much is left over as he then has; the last 16 connections are for root
// and the daemon's own user. A request without a large body takes one buffer of
// fixed size, whatever it asks for.
//
// Requests with an Origin, or for a host with a domain name, are those of a web page
// that came in through a forwarded port; they are refused.
//
// # Under systemd
//
// Whoever connects to a socket of systemd's before [Server.Serve] is called, waits. A
// stop answers what is under way and leaves what has not been accepted to the next
// daemon: so a client that asks once more when it got no answer loses nothing to a
// restart. The watchdog is fed for what was seen: the Server connected to its own socket
// as a client does, was answered, and the Minter told what it mints.
//
// # What can be seen
//
// GET /metrics tells [Metrics]. The log has a line for each refusal, and debug one
// for each request. No line has a lease's key, and no client can fill the disk:
// beyond 10 lines of a kind in a minute they are counted only.
package server

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/opmint/opmint/api"
	"github.com/opmint/opmint/keygen"
	"github.com/opmint/opmint/ledger"
)

// Deadlines, after which a client is cut off.
const (
	headerTime  = 10 * time.Second // to send a request's header
	requestTime = 20 * time.Second // to send a request, header and body
	writeTime   = 20 * time.Second // to take the next part of an answer
	idleTime    = 2 * time.Minute  // between requests
	stopTime    = 5 * time.Second  // to finish a request when the daemon stops
	sourceTime  = 30 * time.Second // for what the Source is asked
)

// sourceRetry is when to ask again for what the Source could not do.
const sourceRetry = 5 * time.Second

// Limits of a request, in bytes.
const (
	maxHeader = 64 << 10
	maxBody   = 4 << 20
)

// Minter is what mints: a [keygen.Minter], or one after the other, where an
// identity is renewed. All methods are called by many goroutines at once.
type Minter interface {
	// Class returns the class of the names that are minted now.
	Class() keygen.Class

	// Lease takes a lease as keygen.Minter.Lease does. Each is of one class, one
	// identity and one epoch, which may be others than those of the one before.
	Lease(ctx context.Context, count uint64) (*keygen.Lease, error)

	// Left returns how many names there are until another epoch is claimed.
	Left() uint64

	// Epoch returns whose names are minted now, and under which epoch; the error
	// is why there is none.
	Epoch() (keygen.Identity, uint64, error)
}

// Source is what a Server knows of the daemon besides its Minter. All methods
// are called by many goroutines at once. An error of package api goes to the
// client as what it is, any other as api.ErrUnavailable.
type Source interface {
	// Identity returns under which identity and epoch names are minted now. The
	// counter is absent where it cannot be read.
	Identity(ctx context.Context) (*api.Identity, error)

	// Renew claims an epoch under a new identity and mints under it from then
	// on. On an error everything stays as it was.
	Renew(ctx context.Context) error

	// CanClaim says why an epoch could not be claimed now; nil if it could. It
	// looks, and uses up nothing.
	CanClaim(ctx context.Context) error

	// Lookup reports whether the daemon knows that it claimed the epoch of a minted
	// name, for its class and identity, and when that was.
	Lookup(ctx context.Context, name keygen.Name) (claimed time.Time, here bool, err error)
}

// Ledger returns the receiver's memory, or why there is none now, which is a
// ledger.ErrUnavailable. It is called for each request, by many goroutines at once.
type Ledger func() (*ledger.Keeper, error)

// Config is what a [Server] needs.
type Config struct {
	Minter  Minter       // what mints
	Source  Source       // the rest of the daemon
	Intents Intents      // which names were given to which intents
	Ledger  Ledger       // which operations were applied; nil: this daemon keeps no ledger
	Version string       // of the daemon, for GET /v1/healthz
	Log     *slog.Logger // where faults of the server go

	// NamesPerEpoch is the Minter's, 0 for its default. With it a request is
	// refused that would take more than 16 claims.
	NamesPerEpoch uint64

	// UID is the daemon's own: who may do, besides root, what is not for all.
	UID uint32

	// Limits bound what clients can take. The zero Limits are the defaults.
	Limits Limits

	// Metrics is what GET /metrics tells; nil if the daemon has nothing to report.
	Metrics *Metrics
}

// Server answers requests. It is an [http.Handler] for requests that came over
// connections of its Serve.
type Server struct {
	Config
	routes   []route
	accounts *accounts
	inside   sync.WaitGroup // for the connections
	lines    *lines
	grace    grace
}

// New returns a Server.
func New(c Config) *Server {
	if c.Metrics == nil {
		c.Metrics = NewMetrics()
	}
	s := &Server{
		Config: c, accounts: newAccounts(c.Limits, c.UID), lines: newLines(c.Log), grace: grace{askTime, lingerTime},
	}
	c.Metrics.gauges.server.Store(s)
	s.routes = s.table()
	return s
}
