package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/opmint/opmint/ledger"
	"github.com/opmint/opmint/store"
)

// bigHeap is the heap that a ledger with many records is to stay within, in MiB.
const bigHeap = 100

// bigLedgerTable compares a ledger that has many records with one that has a thousand,
// both while records are purged all the time. The returned function closes both.
func bigLedgerTable(ctx context.Context, size uint64) (t *table, stop func(), err error) {
	dir, err := os.MkdirTemp("", "bench")
	if err != nil {
		return nil, nil, err
	}
	var ends []func()
	stop = func() {
		for _, end := range ends {
			end()
		}
		os.RemoveAll(dir)
	}
	t = &table{id: "bigledger"}
	fresh, err := freshNames(ctx)
	if err != nil {
		stop()
		return nil, nil, err
	}
	var runs []*subject
	for _, n := range []uint64{size, smallSize} {
		k, end, note, err := bigLedger(ctx, filepath.Join(dir, fmt.Sprint(n)), n)
		if err != nil {
			stop()
			return nil, nil, fmt.Errorf("a ledger with %d records: %w", n, err)
		}
		ends = append(ends, end)
		if n == size {
			t.note = note
		}
		runs = append(runs, t.add(&subject{name: "operations, in-process", note: fmt.Sprintf("among %d, 1 client", n),
			run: inProcess(ctx, k, "purged", 1, fresh)}))
	}
	t.against(runs[0], runs[1], bigTarget)
	return t, stop, nil
}

// bigLedger fills a ledger with n records, opens it anew, and says how large it is and
// what that took. From then on it purges what is a second old in the scope purged.
func bigLedger(ctx context.Context, dir string, n uint64) (k *ledger.Keeper, end func(), note string, err error) {
	path := filepath.Join(dir, "ledger")
	k, s, err := openLedger(ctx, path)
	if err != nil {
		return nil, nil, "", err
	}
	err = errors.Join(absorbMany(ctx, k.As(1000), n), k.Close(ctx), s.Close())
	if err != nil {
		return nil, nil, "", err
	}
	start := time.Now()
	if k, s, err = openLedger(ctx, path); err != nil {
		return nil, nil, "", err
	}
	took := time.Since(start)
	for more := true; more && err == nil; { // the checkpoint of so many new records
		more, err = k.Step(ctx)
	}
	if err != nil {
		return nil, nil, "", errors.Join(err, s.Close())
	}
	running, stop := context.WithCancel(context.Background())
	var work sync.WaitGroup
	work.Go(func() { _ = k.Run(running) }) // ends with its context
	end = func() {
		stop()
		work.Wait()
		_, _ = k.Close(ctx), s.Close() // nobody needs it any more
	}
	if _, err := k.As(1000).SetHorizon(ctx, "purged", ledger.MinHorizon); err != nil {
		end()
		return nil, nil, "", err
	}
	info, err := os.Stat(path)
	if err != nil {
		end()
		return nil, nil, "", err
	}
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return k, end, fmt.Sprintf("A ledger with %d records takes %d MB. Opening it takes %.1f s (%s); then the heap has %d MiB (%s). "+
		"What was applied in the table is purged after a second.\n\n", n, info.Size()>>20,
		took.Seconds(), atMost("5 s", took <= openTarget), m.HeapAlloc>>20, atMost("100 MiB", m.HeapAlloc>>20 <= bigHeap)), nil
}

func atMost(what string, ok bool) string {
	return strings.Replace(reached(what, ok), "≥", "≤", 1)
}

func openLedger(ctx context.Context, path string) (*ledger.Keeper, *store.Bolt, error) {
	s, err := store.Open(ctx, path, store.Options{Kind: store.Ledger})
	if err != nil {
		return nil, nil, err
	}
	k, err := ledger.Open(ctx, s, ledger.Config{Limits: ledger.Limits{Bytes: 1 << 50}})
	if err != nil {
		return nil, nil, errors.Join(err, s.Close())
	}
	return k, s, nil
}

// absorbMany absorbs n names.
func absorbMany(ctx context.Context, l ledger.Ledger, n uint64) error {
	fresh, err := freshNames(ctx)
	if err != nil {
		return err
	}
	for n > 0 {
		items := make([]ledger.Item, min(n, ledger.MaxAbsorb))
		for i := range items {
			items[i].Name = fresh()
		}
		if _, err := l.Absorb(ctx, "kept", items); err != nil {
			return err
		}
		n -= uint64(len(items))
	}
	return nil
}
