package main

import (
	"context"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/opmint/opmint/api"
	"github.com/opmint/opmint/journal"
	"github.com/opmint/opmint/keygen"
	"github.com/opmint/opmint/vtpmdetect"
)

// A life is the time during which names of one identity are minted, for one
// reason. It never changes: what ends it begins another.
type life struct {
	birth
	*keygen.Minter
	counter *journal.Counter
}

// A birth is what a life is made of.
type birth struct {
	class    keygen.Class
	standing *journal.Standing // of the TPM; nil in class j
	minter   [16]byte
	reason   string // for the journal
	acted    moment
}

// A moment is how far the watch was acted upon.
type moment struct {
	vtpmdetect.Timeline
	at time.Time
}

// begin opens a life and mints in it from then on. The caller has the turn, unless
// it is the first. An error leaves the life before as it is.
func (m *mint) begin(ctx context.Context, b birth) error {
	counter, err := m.journal.Counter(journal.CounterConfig{
		Class: b.class, Standing: b.standing, Minter: b.minter, Reason: b.reason, Observe: m.observer(),
	})
	if err != nil {
		return err
	}
	id := counter.Identity()
	minter, err := keygen.NewMinter(ctx, keygen.MinterConfig{
		Class: b.class, Identity: id, Random: m.random, NamesPerEpoch: m.namesPerEpoch,
		Counter: &epochs{mint: m, counter: counter, identity: id, log: m.log.With("identity", id), bounded: m.bounded(b)},
	})
	if err != nil {
		return err
	}
	m.current.Store(&life{b, minter, counter})
	return nil
}

// bounded reports whether claims draw from the bucket: in class h, and wherever
// the TPM is not known to be software, since each claim is a write to it.
func (m *mint) bounded(b birth) bool {
	if b.standing == nil || m.namesPerEpoch > 0 {
		return false
	}
	return b.class == keygen.ClassH || m.report.Verdict.TPM != vtpmdetect.TPMVirtual
}

// drawMinter draws what tells a daemon, or a start, apart. It must not repeat
// where a memory snapshot is restored: no more than a key may.
func (m *mint) drawMinter() (minter [16]byte, err error) {
	if _, err := m.random.Read(minter[:]); err != nil {
		return minter, fmt.Errorf("draw a minter: %w", err)
	}
	return minter, nil
}

// identity tells of l what is the same in all its epochs.
func (l *life) identity() api.Identity {
	told := api.Identity{Class: l.class, Minter: hex.EncodeToString(l.minter[:])}
	if l.standing != nil {
		told.EKFingerprint = "sha256:" + hex.EncodeToString(l.standing.EK[:])
		told.Incarnation = hex.EncodeToString(l.standing.Incarnation[:])
	}
	return told
}
