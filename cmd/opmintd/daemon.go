package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime/debug"
	"time"

	"github.com/opmint/opmint/api"
	"github.com/opmint/opmint/api/server"
	"github.com/opmint/opmint/tpm"
)

// daemon is what a start has made sure of before it asks the TPM.
type daemon struct {
	*options
	log      *slog.Logger
	state    *state
	listener *server.Listener
}

// runDaemon starts a daemon and returns when it has ended: nil after a signal,
// which ends ctx.
func runDaemon(ctx context.Context, o *options, log *slog.Logger) (err error) {
	d := daemon{options: o, log: log}
	noted := d.follow(ctx)
	defer noted()
	dir, err := o.stateFolder()
	if err != nil {
		return err
	}
	cfg, err := o.counterConfig(dir)
	if err != nil {
		return err
	}
	if d.state, err = openState(ctx, dir); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.state.close()) }()
	if d.listener, err = d.listen(); err != nil {
		return err
	}
	defer d.listener.Close()
	if cfg.Device != nil {
		// Waits for a claim, if one is under way.
		defer cfg.Device.Close()
	}
	err = d.run(ctx, cfg)
	if signalled := ctx.Err() != nil; signalled && !unreliable(err) {
		noted()
		log.Info("stopped")
		return nil
	}
	return err
}

// run claims an epoch, as the last step of the start, and serves names. Whoever
// has connected in the meantime has waited.
func (d *daemon) run(ctx context.Context, cfg tpm.CounterConfig) error {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	m, err := d.open(ctx, cfg)
	if err != nil {
		return err
	}
	defer m.watch.Close()
	claiming, endClaims := context.WithCancelCause(context.Background())
	defer endClaims(nil)
	m.claiming = claiming
	m.fail = func(err error) { endClaims(err); fail(err) }
	intents, err := d.openIntents(ctx, m)
	if err != nil {
		return err
	}
	defer m.beginToKeep(intents)()
	if err := m.start(ctx); err != nil {
		return err
	}
	r := d.newReceiver(m)
	defer r.begin(ctx, m)()
	d.tell(m, cfg)
	tuneMemory()
	srv := server.New(server.Config{
		Minter: m, Source: m, Intents: intents, Ledger: r.Keeper, Version: api.ThisBuild().Version, Log: d.log,
		NamesPerEpoch: m.namesPerEpoch, UID: uint32(os.Geteuid()), Metrics: m.meter.Metrics,
	})
	if err := srv.Serve(ctx, d.listener); err != nil {
		return err
	}
	if cause := context.Cause(ctx); unreliable(cause) {
		return fmt.Errorf("no more names until another start has read what is there: %w", cause)
	}
	return nil
}

// open looks at machine and TPM, and returns a mint that has not started yet.
func (d *daemon) open(ctx context.Context, cfg tpm.CounterConfig) (*mint, error) {
	meter := newMeter()
	if cfg.Device != nil {
		cfg.Device.Observe(meter.command)
	}
	m := &mint{
		turn: make(chan struct{}, 1), judgement: d.judge(ctx, cfg.Device), journal: d.state.journal,
		random: newRandom(d.log), namesPerEpoch: uint64(d.namesPerEpoch), log: d.log, meter: meter,
	}
	m.judgement.tell(d.log)
	m.bucket = bucket{now: time.Now, size: bucketSize, interval: bucketInterval}
	m.renewals = bucket{now: time.Now, size: renewalSize, interval: renewalInterval}
	m.reader = newReader(m.readCounter)
	var err error
	if cfg.Device != nil {
		if m.chip, err = openChip(ctx, cfg, d.state.journal, d.log, meter); err != nil {
			return nil, err
		}
	}
	m.watch, err = openWatch(d.log)
	return m, err
}

// tell writes down in the log that the daemon has started.
func (d *daemon) tell(m *mint, cfg tpm.CounterConfig) {
	l := m.current.Load()
	started := d.log.With("version", api.ThisBuild().Version, "socket", d.listener.Addr().String(), "state", d.state.dir,
		"class", l.class, "assumed", m.assumedFor(l), "identity", l.counter.Identity())
	if cfg.Device != nil {
		started = started.With("tpm", cfg.Device.String(), "nv_index", d.nvIndex.String())
	}
	started.Info("started")
}

// tuneMemory has the heap collected a quarter as often: a busy daemon needs 0.92 of
// the processor time for a request then, and 13 MB more. It has next to no live heap.
func tuneMemory() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
}
