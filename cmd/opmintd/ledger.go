package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/opmint/opmint/journal"
	"github.com/opmint/opmint/keygen"
	"github.com/opmint/opmint/ledger"
	"github.com/opmint/opmint/store"
)

// ledgerFile is the receiver's ledger in the state folder. The store has others
// beside it.
const ledgerFile = "ledger"

const (
	reopenTime = time.Minute      // until a ledger that is out of order is opened again
	markTime   = time.Minute      // between two notes of how far it is
	closeTime  = 10 * time.Second // to end what the ledger is at
)

// receiver keeps the ledger as long as the daemon runs. Whatever is the matter with
// the ledger, names are minted.
//
//	open ──► compare with the journal ──► serve, purge, note in the journal ──► close
//	  ▲                                                   │
//	  └──────── in a minute ◄──── not opened, or stopped ◄┘
type receiver struct {
	path    string
	config  ledger.Config
	journal *journal.Journal
	log     *slog.Logger
	meter   *meter
	judge   func(error) error // of the journal's errors

	doubtful bool // the journal beside it went back

	mu     sync.Mutex
	keeper *ledger.Keeper // nil: there is none now
	why    error          // then
	store  *store.Bolt    // of the keeper
}

func (d *daemon) newReceiver(m *mint) *receiver {
	return &receiver{
		path: filepath.Join(d.state.dir, ledgerFile), journal: d.state.journal, log: d.log, meter: m.meter, judge: m.judgeError,
		config: ledger.Config{
			Horizon: time.Duration(d.horizon), Restored: d.ledgerRestored,
			Limits: ledger.Limits{Running: uint64(d.maxRunning), Bytes: uint64(d.maxBytes)},
		},
	}
}

// Keeper returns the ledger, or why there is none now.
func (r *receiver) Keeper() (*ledger.Keeper, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.keeper, r.why
}

// claimed says that the daemon claimed an epoch just now.
func (r *receiver) claimed(id keygen.Identity, epoch uint64) {
	if k, err := r.Keeper(); err == nil {
		k.Claimed(id, epoch)
	}
}

// begin opens the ledger and keeps it, once a mint has started and before anybody has
// a name of its epoch: so that the journal had the room that there is on the disk. The
// returned function ends it, before the journal is closed.
func (r *receiver) begin(ctx context.Context, m *mint) (end func()) {
	l := m.current.Load()
	// They may have been restored together.
	r.doubtful = l.standing != nil && l.standing.Rollback.What == journal.WhatJournal
	r.open(ctx)
	if id, epoch, err := l.Epoch(); err == nil {
		r.claimed(id, epoch)
	}
	m.receiver.Store(r)
	running, cancel := context.WithCancel(context.Background())
	var work sync.WaitGroup
	work.Go(func() { r.run(running) })
	return func() { cancel(); work.Wait() }
}

// run keeps the ledger until ctx ends, and opens it again where it failed.
func (r *receiver) run(ctx context.Context) {
	for {
		if k, err := r.Keeper(); err == nil {
			r.keep(ctx, k)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(reopenTime):
			r.open(ctx)
		}
	}
}

// keep keeps the ledger until ctx ends or its store does, and closes it.
func (r *receiver) keep(ctx context.Context, k *ledger.Keeper) {
	working, stop := context.WithCancel(ctx)
	var marks sync.WaitGroup
	marks.Go(func() {
		for {
			select {
			case <-working.Done():
				return
			case <-time.After(markTime):
				r.mark(working, k)
			}
		}
	})
	err := k.Run(ctx)
	stop()
	marks.Wait()
	r.close(ctx.Err() == nil, k, err)
}

// mark notes in the journal how far the ledger is.
func (r *receiver) mark(ctx context.Context, k *ledger.Keeper) {
	info, err := k.Info(ctx)
	if err != nil {
		return // whoever asks is told
	}
	if err := r.judge(r.journal.MarkLedger(ctx, journal.LedgerMark{ID: info.ID, Events: info.Events})); err != nil {
		r.log.Warn("cannot note in the journal how far the ledger is", "error", err)
	}
}

// close closes the ledger, at the daemon's stop or because it failed.
func (r *receiver) close(failed bool, k *ledger.Keeper, cause error) {
	ctx, cancel := context.WithTimeout(context.Background(), closeTime)
	defer cancel()
	err := k.Close(ctx)
	if failed {
		r.lack(fmt.Errorf("%w: %w", ledger.ErrUnavailable, cause))
	} else {
		r.mark(ctx, k)
		r.lack(fmt.Errorf("%w: the daemon stops", ledger.ErrUnavailable))
	}
	if err = errors.Join(err, r.store.Close()); err != nil {
		r.log.Error("closing the ledger", "error", err)
	}
}

// lack says from now on why there is no ledger.
func (r *receiver) lack(why error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.keeper, r.why = nil, why
}

// open opens the ledger, or says why not.
func (r *receiver) open(ctx context.Context) {
	k, err := r.tryOpen(ctx)
	if err != nil {
		r.log.Error("no ledger: receivers are refused, and names minted all the same", "error", err)
		r.lack(fmt.Errorf("%w: %w", ledger.ErrUnavailable, err))
		return
	}
	r.config.Restored, r.doubtful = false, false // it is on record
	r.mu.Lock()
	defer r.mu.Unlock()
	r.keeper, r.why = k, nil
}

func (r *receiver) tryOpen(ctx context.Context) (*ledger.Keeper, error) {
	s, err := store.Open(ctx, r.path, store.Options{Kind: store.Ledger})
	lost := errors.Is(err, store.ErrLost)
	if lost {
		s, err = store.Open(ctx, r.path, store.Options{Kind: store.Ledger, AcceptLoss: true})
	}
	if err != nil {
		return nil, err
	}
	k, err := ledger.Open(ctx, s, r.config)
	if err == nil {
		err = r.compare(ctx, k, lost)
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	r.store = s
	return k, nil
}

// compare notices a ledger that is an older copy of itself, or another one than the
// journal knows, and makes it suspect: it may have forgotten what was applied.
// Lost says that a part of it was.
func (r *receiver) compare(ctx context.Context, k *ledger.Keeper, lost bool) error {
	info, err := k.Info(ctx)
	if err != nil {
		return err
	}
	mark, err := r.journal.LedgerMark(ctx)
	if err != nil {
		return r.judge(err)
	}
	// A journal that never knew a ledger was lost, not restored with it.
	known := !mark.IsZero()
	another := known && info.ID != mark.ID
	back := another || info.ID == mark.ID && info.Events < mark.Events
	switch {
	case info.Events == 0 && (lost || another):
		// Nothing that it could have seen is in it, so it is as good as new.
		r.log.Error("the ledger is lost: it starts empty, and what was applied before is not known", "events", mark.Events)
	case lost || back || r.doubtful && known:
		r.log.Error("the ledger went back, or may have: what it has not seen is answered outcome-unknown until an operator accepts it",
			"seen", info.Events, "expected", mark.Events)
		if err := k.Suspect(ctx, uint32(os.Geteuid())); err != nil {
			return err
		}
	}
	if back && (info.Events > 0 || mark.Events > 0) {
		if err := r.judge(r.journal.Record(ctx, journal.WhatLedger, info.Events, mark.Events)); err != nil {
			return err
		}
		r.meter.RolledBack(string(journal.WhatLedger))
	}
	if info, err = k.Info(ctx); err != nil {
		return err
	}
	return r.judge(r.journal.MarkLedger(ctx, journal.LedgerMark{ID: info.ID, Events: info.Events}))
}
