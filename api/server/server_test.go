package server

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/opmint/opmint/api"
	"github.com/opmint/opmint/keygen"
	"github.com/opmint/opmint/ledger"
	"github.com/opmint/opmint/store/storetest"
)

var testIdentity = keygen.NewIdentity([32]byte{1}, [32]byte{2}, [16]byte{3})

// source is a daemon in small: epochs 1, 2, 3… and a new identity at each renewal.
type source struct {
	config keygen.MinterConfig
	minter atomic.Pointer[keygen.Minter]
	leases atomic.Int64 // that were asked for
	boot   atomic.Int64 // the boot-time clock, in ns
	keeper *ledger.Keeper

	mu      sync.Mutex
	fail    error // why nothing can be claimed
	unread  error // why nothing can be looked up
	mislaid error // why there is no ledger
	epoch   uint64
	renewed byte
	claimed map[uint64]time.Time
}

func (s *source) Next(ctx context.Context) (uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := cmp.Or(ctx.Err(), s.fail); err != nil {
		return 0, err
	}
	s.epoch++
	s.claimed[s.epoch] = time.Date(2030, 1, 2, 3, 4, int(s.epoch%60), 0, time.UTC)
	return s.epoch, nil
}

func (s *source) Class() keygen.Class { return s.config.Class }

func (s *source) Lease(ctx context.Context, count uint64) (*keygen.Lease, error) {
	s.leases.Add(1)
	return s.minter.Load().Lease(ctx, count)
}

func (s *source) Left() uint64 { return s.minter.Load().Left() }

func (s *source) Epoch() (keygen.Identity, uint64, error) { return s.minter.Load().Epoch() }

// mintAs mints under an identity from now on.
func (s *source) mintAs(ctx context.Context, id keygen.Identity) error {
	c := s.config
	c.Identity = id
	m, err := keygen.NewMinter(ctx, c)
	if err == nil {
		s.minter.Store(m)
	}
	return err
}

func (s *source) Identity(ctx context.Context) (*api.Identity, error) {
	id, epoch, err := s.Epoch()
	return &api.Identity{Class: s.Class(), Identity: id, Epoch: epoch, Counter: &epoch}, cmp.Or(err, ctx.Err())
}

func (s *source) Renew(ctx context.Context) error {
	s.mu.Lock()
	s.renewed++
	id := keygen.NewIdentity([32]byte{1}, [32]byte{2}, [16]byte{3, s.renewed})
	s.mu.Unlock()
	return s.mintAs(ctx, id)
}

func (s *source) CanClaim(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return cmp.Or(ctx.Err(), s.fail)
}

func (s *source) Lookup(ctx context.Context, name keygen.Name) (time.Time, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at, ok := s.claimed[name.Epoch()]
	return at, ok && name.Identity() == testIdentity, cmp.Or(ctx.Err(), s.unread)
}

func (s *source) ledger() (*ledger.Keeper, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.keeper, s.mislaid
}

func (s *source) breakWith(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fail = err
}

// newServer returns a server that serves nowhere yet.
func newServer(t testing.TB, class keygen.Class, namesPerEpoch uint64) (*Server, *source) {
	t.Helper()
	s := &source{claimed: map[uint64]time.Time{}}
	s.config = keygen.MinterConfig{Class: class, Counter: s, NamesPerEpoch: namesPerEpoch}
	if err := s.mintAs(t.Context(), testIdentity); err != nil {
		t.Fatal(err)
	}
	s.keeper = newLedger(t, s, storetest.NewMemory())
	srv := New(Config{
		Ledger: s.ledger,
		Minter: s, Source: s, Intents: newIntents(t, s, storetest.NewMemory()), Version: "v1.2.3", NamesPerEpoch: namesPerEpoch,
		UID: uint32(os.Geteuid()), Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
	})
	// Or else what was left out of the log is said in a minute, when the test is over.
	t.Cleanup(func() { srv.lines.close() })
	return srv, s
}

// daemon is a server that serves.
type daemon struct {
	t      testing.TB
	socket string
	source *source
	server *Server
	stop   func() error // stops it and waits until it has

	serving context.Context // until it is stopped
	others  sync.WaitGroup  // what serves on other sockets
}

func startServer(t testing.TB, namesPerEpoch uint64) *daemon {
	return startServerWith(t, namesPerEpoch, Limits{})
}

func startServerWith(t testing.TB, namesPerEpoch uint64, l Limits) *daemon {
	t.Helper()
	srv, src := newServer(t, keygen.ClassH, namesPerEpoch)
	srv.accounts = newAccounts(l, srv.UID)
	srv.grace = grace{time.Hour, time.Hour} // the test may be put off the CPU for longer than a client may take
	d := &daemon{t: t, socket: filepath.Join(t.TempDir(), "s"), source: src, server: srv}
	at, err := Listen(d.socket)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- srv.Serve(ctx, at) }()
	d.serving = ctx
	d.stop = sync.OnceValue(func() error {
		cancel()
		d.others.Wait()
		return <-done
	})
	t.Cleanup(func() {
		if err := d.stop(); err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return d
}

// dial connects to the daemon; the connection is closed with the test.
func (d *daemon) dial() *net.UnixConn {
	d.t.Helper()
	c, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: d.socket, Net: "unix"})
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() { c.Close() })
	return c
}

// raw sends bytes as they are, over a connection of its own on which nothing
// follows, and returns the answers and what comes after them.
func (d *daemon) raw(sent string) (answers []*http.Response, rest []byte) {
	d.t.Helper()
	c := d.dial()
	if _, err := io.WriteString(c, sent); err != nil {
		d.t.Fatalf("send %.60q: %v", sent, err)
	}
	if err := c.CloseWrite(); err != nil && !errors.Is(err, net.ErrClosed) {
		d.t.Fatal(err)
	}
	all, err := io.ReadAll(c)
	if err != nil {
		d.t.Fatalf("read the answer to %.60q: %v", sent, err)
	}
	for r := bufio.NewReader(bytes.NewReader(all)); ; {
		answer, err := http.ReadResponse(r, nil)
		if err != nil {
			rest, _ = io.ReadAll(r)
			return answers, rest
		}
		body, err := io.ReadAll(answer.Body)
		if err != nil {
			d.t.Fatalf("read the answer to %.60q: %v", sent, err)
		}
		answer.Body = io.NopCloser(bytes.NewReader(body))
		answers = append(answers, answer)
	}
}

// do sends one request in the usual way and returns its answer, read to the end.
func (d *daemon) do(method, target string, header http.Header, body string) (*http.Response, string) {
	d.t.Helper()
	req, err := http.NewRequest(method, "http://opmint"+target, bytes.NewReader([]byte(body)))
	if err != nil {
		d.t.Fatal(err)
	}
	for name, values := range header {
		req.Header[name] = values
	}
	transport := &http.Transport{
		DialContext: func(context.Context, string, string) (net.Conn, error) { return net.Dial("unix", d.socket) },
	}
	defer transport.CloseIdleConnections()
	answer, err := transport.RoundTrip(req)
	if err != nil {
		d.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		d.t.Fatal(err)
	}
	return answer, string(text)
}

// wantProblem checks that an answer is a problem in every respect.
func wantProblem(t testing.TB, what string, answer *http.Response, status int, code string) api.Problem {
	t.Helper()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	var p api.Problem
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&p); err != nil {
		t.Fatalf("%s: no problem: %v in %.200q", what, err, body)
	}
	if answer.StatusCode != status || p.Status != status || p.Type != "urn:opmint:problem:"+code ||
		p.Title == "" || p.Detail == "" || answer.Header.Get("Content-Type") != "application/problem+json" ||
		answer.ContentLength != int64(len(body)) {
		t.Errorf("%s: %d %v with length %d: %s, want %d %s",
			what, answer.StatusCode, answer.Header, answer.ContentLength, body, status, code)
	}
	return p
}
