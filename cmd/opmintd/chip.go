package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/opmint/opmint/journal"
	"github.com/opmint/opmint/tpm"
)

// A chip is the TPM, with what is needed to claim from its counter.
type chip struct {
	config  tpm.CounterConfig
	ek      [32]byte // fingerprint of the endorsement key
	journal *journal.Journal
	log     *slog.Logger
	meter   *meter
}

// openChip makes the endorsement key, once, as the journal says that it was made
// before: a TPM may learn another template with new firmware.
func openChip(ctx context.Context, cfg tpm.CounterConfig, j *journal.Journal, log *slog.Logger, m *meter) (*chip, error) {
	var err error
	if cfg.EK.Template, err = j.EKTemplate(ctx); err != nil {
		return nil, err
	}
	ek, err := cfg.Device.EndorsementKey(ctx, cfg.EK)
	if errors.Is(err, tpm.ErrUnsupportedKey) && cfg.EK.Template != "" {
		log.Warn("this TPM is not the one that the journal knows", "error", err)
		cfg.EK.Template = ""
		ek, err = cfg.Device.EndorsementKey(ctx, cfg.EK)
	}
	if err != nil {
		return nil, err
	}
	cfg.EK.Template = ek.Template
	return &chip{cfg, ek.Fingerprint, j, log, m}, j.KeepEKTemplate(ctx, ek.Template)
}

// compare looks at the counter afresh, which it defines if it is missing, and
// compares it with the journal.
func (c *chip) compare(ctx context.Context) (*journal.Standing, error) {
	counter, err := tpm.NewCounter(c.config)
	if err != nil {
		return nil, err
	}
	if err := counter.Define(ctx); err != nil {
		return nil, advise(err)
	}
	first, err := counter.First(ctx)
	if err != nil {
		return nil, err
	}
	s, err := c.journal.Compare(ctx, counter, c.ek, first)
	if err != nil {
		return nil, err
	}
	c.tell(s)
	return s, nil
}

// changes are what is new about a TPM, in words. None of them is a rollback.
var changes = map[journal.Change]string{
	journal.FirstTPM: "the journal knew no TPM before",
	journal.NewIndex: "the TPM's counter is a new one: it was cleared, or the index made anew",
	journal.OtherTPM: "this is another TPM: the state folder was moved, or the board replaced",
	journal.NewEK:    "the TPM's endorsement key is another one",
}

// tell writes down in the log what is new, and what went back.
func (c *chip) tell(s *journal.Standing) {
	if change, ok := changes[s.Change]; ok {
		level := slog.LevelInfo
		if s.Change == journal.OtherTPM || s.Change == journal.NewEK {
			level = slog.LevelWarn
		}
		c.log.Log(context.Background(), level, change+"; the identity is a new one", "counter", s.Value)
	}
	if !s.Rollback.IsZero() {
		c.meter.RolledBack(string(s.Rollback.What))
	}
	switch r := s.Rollback; r.What {
	case journal.WhatTPM:
		c.log.Error("the TPM was rolled back: its counter shows less than it did", "seen", r.Seen, "expected", r.Expected)
	case journal.WhatJournal:
		c.log.Warn("the counter shows more than the journal explains: the journal was lost or rolled back, "+
			"or somebody else uses the counter",
			"seen", r.Seen, "expected", r.Expected)
	}
}

// advise adds to an error what to do about it, where the daemon knows more than
// the package that it is from.
func advise(err error) error {
	if errors.Is(err, tpm.ErrOwnerAuth) {
		return fmt.Errorf("%w; give it to the daemon, or define the counter with `opmint provision`", err)
	}
	return err
}
