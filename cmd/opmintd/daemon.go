package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"runtime/debug"
	"time"

	"github.com/opmint/opmint/api/server"
	"github.com/opmint/opmint/keygen"
	"github.com/opmint/opmint/tpm"
)

// daemon is what a start has made sure of before it asks the TPM.
type daemon struct {
	*options
	log      *slog.Logger
	class    keygen.Class
	state    *state
	minter   minter
	listener *server.Listener
}

// runDaemon starts a daemon and returns when it has ended: nil after a signal,
// which ends ctx.
func runDaemon(ctx context.Context, o *options, log *slog.Logger) error {
	d := daemon{options: o, log: log}
	var err error
	if d.class, err = o.class(); err != nil {
		return err
	}
	socket, dir, err := o.places()
	if err != nil {
		return err
	}
	cfg, err := o.counterConfig(dir)
	if err != nil {
		return err
	}
	if d.state, err = openState(dir); err != nil {
		return err
	}
	defer d.state.close()
	if d.minter, err = d.state.minter(); err != nil {
		return err
	}
	if d.listener, err = server.Listen(socket); err != nil {
		return err
	}
	defer d.listener.Close()
	// Waits for a claim, if one is under way.
	defer cfg.Device.Close()
	err = d.run(ctx, cfg)
	if signalled := ctx.Err() != nil; signalled && !unreliable(err) {
		log.Info("stopped", "reason", context.Cause(ctx))
		return nil
	}
	return err
}

// run claims an epoch, as the last step of the start, and serves names. Whoever
// has connected in the meantime has waited.
func (d *daemon) run(ctx context.Context, cfg tpm.CounterConfig) error {
	counter, o, err := openCounter(ctx, cfg, d.state)
	if err != nil {
		return err
	}
	o.minter = d.minter
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	claiming, cancel := context.WithCancel(context.Background())
	defer cancel()
	src, err := d.claim(ctx, newClaimer(claiming, counter, &claims{last: o}, d.log, fail))
	if err != nil {
		return err
	}
	d.log.Info("started", "version", thisVersion(), "socket", d.listener.Addr().String(), "state", d.state.dir,
		"tpm", cfg.Device.String(), "nv_index", d.nvIndex.String(),
		"class", src.class, "assumed", src.assumed, "identity", o.identity())
	tuneMemory()
	srv := server.New(server.Config{
		Minter: src.minter, Source: src, Version: thisVersion(), Log: d.log,
		NamesPerEpoch: uint64(d.namesPerEpoch), UID: uint32(os.Geteuid()),
	})
	if err := srv.Serve(ctx, d.listener); err != nil {
		return err
	}
	if cause := context.Cause(ctx); unreliable(cause) {
		return fmt.Errorf("no more names until another start has read the counter: %w", cause)
	}
	return nil
}

// claim claims the epoch of the start.
func (d *daemon) claim(ctx context.Context, c *claimer) (*source, error) {
	src := &source{
		class: d.class, assumed: d.assume.value != "",
		claimer: c, counter: c, claims: c.claims, state: d.state, renewing: make(chan struct{}, 1),
	}
	if d.namesPerEpoch == 0 {
		src.counter = &bucket{counter: c, now: time.Now}
	}
	var err error
	src.minter, err = keygen.NewMinter(ctx, keygen.MinterConfig{
		Class: d.class, Identity: c.claims.current().identity(), Counter: src.counter,
		NamesPerEpoch: uint64(d.namesPerEpoch),
	})
	return src, err
}

// tuneMemory has the heap collected half as often: a busy daemon needs 0.9 of the
// processor time for a request then, and 4 MB more. It has next to no live heap.
func tuneMemory() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(200)
	}
}
