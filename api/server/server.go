// Package server is the daemon's side of package api: HTTP and JSON on a Unix
// socket.
//
//	socket → conn, who is calling → route → handler → Minter.Lease → socket
//
// A [Server] mints with a [Minter] and knows the rest of the daemon as a [Source].
// [Listen] makes the socket that it serves.
//
// # What it promises
//
// A handler first reads its request and touches nothing; only when the request
// is sound and its caller may make it, is anything done. So a refused request
// uses up no seq and no NV write.
//
// Everything that goes wrong is answered as a problem (RFC 9457), also what
// net/http would answer in plain text before it asks any handler. An answer that
// cannot be completed is cut off, so that its reader sees an error: each states
// its length beforehand.
//
// Paths are taken as they came: split at the slashes, each segment decoded once,
// never cleaned and never redirected. Clients that send or read too slowly are
// cut off by deadline, and whatever a client asks for, its request takes one
// buffer of fixed size.
package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/opmint/opmint/api"
	"github.com/opmint/opmint/keygen"
)

// Deadlines, after which a client is cut off.
const (
	requestTime = 20 * time.Second // to send a request, header and body
	writeTime   = 20 * time.Second // to take the next part of an answer
	idleTime    = 2 * time.Minute  // between requests
	stopTime    = 5 * time.Second  // to finish a request when the daemon stops
	sourceTime  = 30 * time.Second // for what the Source is asked
)

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

	// Lookup reports whether the daemon knows that it claimed an epoch for an
	// identity, and when that was.
	Lookup(ctx context.Context, id keygen.Identity, epoch uint64) (claimed time.Time, here bool, err error)
}

// Config is what a [Server] needs.
type Config struct {
	Minter  Minter       // what mints
	Source  Source       // the rest of the daemon
	Version string       // of the daemon, for GET /v1/healthz
	Log     *slog.Logger // where faults of the server go

	// NamesPerEpoch is the Minter's, 0 for its default. With it a request is
	// refused that would take more than 16 claims.
	NamesPerEpoch uint64

	// UID is the daemon's own: who may do, besides root, what is not for all.
	UID uint32
}

// Server answers requests. It is an [http.Handler] for requests that came over
// connections of its Serve.
type Server struct {
	Config
	routes []route
}

// New returns a Server.
func New(c Config) *Server {
	s := &Server{Config: c}
	s.routes = s.table()
	return s
}

// Serve answers requests on l until ctx is done, then finishes those under way,
// for 5 seconds at most, and returns nil. It closes l.
func (s *Server) Serve(ctx context.Context, l *Listener) error {
	h := http.Server{
		Handler:        s,
		ConnContext:    withCaller,
		ErrorLog:       slog.NewLogLogger(s.Log.Handler(), slog.LevelWarn),
		ReadTimeout:    requestTime,
		WriteTimeout:   writeTime,
		IdleTimeout:    idleTime,
		MaxHeaderBytes: maxHeader,

		DisableGeneralOptionsHandler: true,
	}
	stopped := make(chan error, 1)
	stop := context.AfterFunc(ctx, func() {
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTime)
		defer cancel()
		err := h.Shutdown(grace)
		if errors.Is(err, context.DeadlineExceeded) {
			err = h.Close()
		}
		stopped <- err
	})
	err := h.Serve(l)
	if !stop() {
		err = <-stopped
	}
	if err != nil && !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve %s: %w", l.Addr(), err)
	}
	return nil
}
