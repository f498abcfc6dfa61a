package main

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/opmint/opmint/api"
	"github.com/opmint/opmint/api/server"
	"github.com/opmint/opmint/journal"
	"github.com/opmint/opmint/keygen"
	"github.com/opmint/opmint/ledger"
	"github.com/opmint/opmint/store/storetest"
)

// daemonKey is where a script has its testDaemon.
const daemonKey = "daemon"

// testEpoch is how many names an epoch of a testDaemon has.
const testEpoch = 100_000

// testDaemon is a daemon of class h whose counter is a variable. The zero
// testDaemon is ready to start.
type testDaemon struct {
	minter   *keygen.Minter
	memory   *storetest.Memory // of the journal, which outlives a stop
	receiver *storetest.Memory // of the ledger, likewise
	cancel   context.CancelFunc
	done     chan error

	mu      sync.Mutex
	counter uint64
	broken  error // what the counter answers instead
}

// start makes d listen on a socket. Its first epoch is 1, then 2 and so on.
func (d *testDaemon) start(socket string) (err error) {
	d.broken = nil
	d.minter, err = keygen.NewMinter(context.Background(), keygen.MinterConfig{
		Class:    keygen.ClassH,
		Identity: keygen.NewIdentity([32]byte{1}, [32]byte{2}, [16]byte{3}),
		Counter:  d, NamesPerEpoch: testEpoch,
	})
	if err != nil {
		return err
	}
	intents, err := d.intents()
	if err != nil {
		return err
	}
	l, err := server.Listen(socket)
	if err != nil {
		return err
	}
	if d.receiver == nil {
		d.receiver = storetest.NewMemory()
	}
	keeper, err := ledger.Open(context.Background(), d.receiver, ledger.Config{})
	if err != nil {
		return err
	}
	s := server.New(server.Config{
		Ledger: func() (*ledger.Keeper, error) { return keeper, nil },
		Minter: d.minter, Source: d, Intents: intents, Version: "v1.2.3", NamesPerEpoch: testEpoch, Log: slog.New(slog.DiscardHandler),
	})
	var ctx context.Context
	ctx, d.cancel = context.WithCancel(context.Background())
	d.done = make(chan error, 1)
	go func() { d.done <- s.Serve(ctx, l) }()
	return nil
}

// intents opens what d remembers. Its time goes on by a second with each look at
// the clock.
func (d *testDaemon) intents() (*journal.Intents, error) {
	if d.memory == nil {
		d.memory = storetest.NewMemory()
	}
	j, err := journal.Open(context.Background(), d.memory, time.Now)
	if err != nil {
		return nil, err
	}
	var boot atomic.Int64
	return j.Intents(context.Background(), journal.IntentsConfig{
		Minter: d.minter, Random: rand.Reader, Horizon: 192 * time.Hour, MaxIntents: 100, MaxStreams: 100,
		Boot: func() time.Duration { return time.Duration(boot.Add(int64(time.Second))) },
	})
}

// stop ends d, if it was started.
func (d *testDaemon) stop() error {
	if d.cancel == nil {
		return nil
	}
	d.cancel()
	d.cancel = nil
	return <-d.done
}

func (d *testDaemon) Next(context.Context) (uint64, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.broken == nil {
		d.counter++
	}
	return d.counter, d.broken
}

func (d *testDaemon) Identity(context.Context) (*api.Identity, error) {
	id, epoch, err := d.minter.Epoch()
	d.mu.Lock()
	defer d.mu.Unlock()
	i := &api.Identity{Class: keygen.ClassH, Assumed: true, Identity: id, Epoch: epoch}
	if d.broken == nil {
		i.Counter = new(d.counter)
	}
	return i, err
}

func (d *testDaemon) CanClaim(context.Context) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.broken
}

func (d *testDaemon) Renew(context.Context) error { return errors.ErrUnsupported }

func (d *testDaemon) Lookup(context.Context, keygen.Name) (time.Time, bool, error) {
	return time.Time{}, false, nil
}

// daemonCommand is the script command for the script's testDaemon:
//
//	daemon start
//	daemon stop
//	daemon break WHY
//
// After break its counter answers nothing but WHY, and it goes on in the open
// epoch.
func daemonCommand(ts *testscript.TestScript, neg bool, args []string) {
	d := ts.Value(daemonKey).(*testDaemon)
	switch {
	case !neg && slices.Equal(args, []string{"start"}):
		ts.Check(d.start(ts.Getenv(api.SocketVariable)))
	case !neg && slices.Equal(args, []string{"stop"}):
		ts.Check(d.stop())
	case !neg && len(args) == 2 && args[0] == "break":
		d.mu.Lock()
		defer d.mu.Unlock()
		d.broken = errors.New(args[1])
	default:
		ts.Fatalf("usage: daemon start, daemon stop, daemon break WHY")
	}
}
