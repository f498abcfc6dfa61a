package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/opmint/opmint/api/server"
	"github.com/opmint/opmint/keygen"
	"github.com/opmint/opmint/tpm"
)

// serve starts the daemon and runs it until ctx is done. All that can refuse the
// start comes before the claim; who connects meanwhile waits.
func (o *options) serve(ctx context.Context, log *slog.Logger) error {
	if err := o.refusal(); err != nil {
		return err
	}
	cfg, err := o.counterConfig()
	if err != nil {
		return err
	}
	defer cfg.Device.Close()
	socket, dir, err := o.places()
	if err != nil {
		return err
	}
	cfg.StateDir = dir
	s, err := openState(dir)
	if err != nil {
		return err
	}
	defer s.close()
	minter, err := s.minter()
	if err != nil {
		return err
	}
	listener, err := server.Listen(socket)
	if err != nil {
		return err
	}
	defer listener.Close()
	counter, origin, err := openCounter(ctx, cfg, s)
	if err != nil {
		return err
	}
	origin.minter = minter
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	c := &claims{counter: counter, log: log, now: time.Now, fail: fail, last: origin}
	src, err := o.open(ctx, c, s)
	if err != nil {
		return err
	}
	log.Info("started", "version", thisVersion(), "socket", socket, "state", dir, "tpm", cfg.Device,
		"nv_index", &o.nvIndex, "class", keygen.ClassH, "assumed", true, "identity", origin.identity())
	srv := server.New(server.Config{
		Minter: src.minter, Source: src, Version: thisVersion(), Log: log,
		NamesPerEpoch: uint64(o.namesPerEpoch), UID: uint32(os.Geteuid()),
	})
	if err := srv.Serve(ctx, listener); err != nil {
		return err
	}
	if cause := context.Cause(ctx); unreliable(cause) {
		return fmt.Errorf("minting was stopped: %w", cause)
	}
	log.Info("stopped")
	return nil
}

// open claims the epoch of the start.
func (o *options) open(ctx context.Context, c *claims, s *state) (*source, error) {
	src := &source{claimer: c, claims: c, state: s, renewing: make(chan struct{}, 1)}
	if o.namesPerEpoch == 0 {
		src.claimer = &bucket{claimer: c, now: time.Now}
	}
	var err error
	src.minter, err = keygen.NewMinter(ctx, keygen.MinterConfig{
		Class: keygen.ClassH, Identity: c.last.identity(), Counter: src.claimer, NamesPerEpoch: uint64(o.namesPerEpoch),
	})
	return src, err
}

// counterConfig returns which counter to use, but for the state folder. It opens
// the TPM, to be closed by the caller, and asks it nothing yet.
func (o *options) counterConfig() (cfg tpm.CounterConfig, err error) {
	cfg.Index = uint32(o.nvIndex)
	if o.ownerFile != "" {
		if cfg.OwnerAuth, err = tpm.ReadAuthValue(string(o.ownerFile)); err != nil {
			return cfg, err
		}
	}
	if o.endorsementFile != "" {
		if cfg.EK.Auth, err = tpm.ReadAuthValue(string(o.endorsementFile)); err != nil {
			return cfg, err
		}
	}
	cfg.Device, err = tpm.Open(o.tpm)
	return cfg, err
}
