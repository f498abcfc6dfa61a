package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/opmint/opmint/journal"
	"github.com/opmint/opmint/keygen"
	"github.com/opmint/opmint/store"
)

// Targets of a journal with many intents: asking it against asking a small one, and
// how long it takes to open.
const (
	bigTarget  = 0.5
	openTarget = 5 * time.Second
	smallSize  = 1000
)

// bigTable compares a daemon whose journal has many intents with one whose journal
// has a thousand. The returned function stops both.
func bigTable(ctx context.Context, size uint64) (t *table, stop func(), err error) {
	dir, err := os.MkdirTemp("", "bench")
	if err != nil {
		return nil, nil, err
	}
	s := new(servers)
	stop = func() { s.stop(); os.RemoveAll(dir) }
	t = &table{id: "big"}
	if err = buildPrograms(ctx, dir); err == nil {
		err = t.compareSizes(ctx, s, dir, size)
	}
	if err != nil {
		stop()
		return nil, nil, err
	}
	return t, stop, nil
}

func (t *table) compareSizes(ctx context.Context, s *servers, dir string, size uint64) error {
	var sockets []string
	for _, n := range []uint64{size, smallSize} {
		state := filepath.Join(dir, fmt.Sprint(n))
		took, err := fill(ctx, state, n)
		if err != nil {
			return fmt.Errorf("fill a journal with %d intents: %w", n, err)
		}
		if n == size {
			t.note = took
		}
		socket := state + ".sock"
		sockets = append(sockets, socket)
		if err := s.start(ctx, socket, filepath.Join(dir, "opmintd"),
			"--tpm", "none", "--socket", socket, "--state", state, "--max-intents", fmt.Sprint(1<<30)); err != nil {
			return err
		}
	}
	var fresh atomic.Uint64
	for _, clients := range []int{1, 16} {
		for _, what := range []struct {
			title, kind string
			of          [2]func() uint64
		}{
			{"known intents", "order", [2]func() uint64{anyOf(size), anyOf(smallSize)}},
			{"new intents", "new", [2]func() uint64{func() uint64 { return fresh.Add(1) }, func() uint64 { return fresh.Add(1) }}},
		} {
			add := func(i int, n uint64) *subject {
				return t.add(&subject{
					name: what.title, note: fmt.Sprintf("among %d, %s", n, countClients(clients)),
					run: newIntents(sockets[i], clients, what.kind, what.of[i]).run,
				})
			}
			t.against(add(0, size), add(1, smallSize), bigTarget)
		}
	}
	return nil
}

// fill makes a state folder whose journal has so many intents, and says how long it
// then takes to open: after it was closed, and after it was not.
func fill(ctx context.Context, state string, n uint64) (opening string, err error) {
	if err := os.Mkdir(state, 0o700); err != nil {
		return "", err
	}
	path := filepath.Join(state, "journal")
	if err := withJournal(ctx, path, func(in *journal.Intents) error { return nameMany(ctx, in, n) }); err != nil {
		return "", err
	}
	closed, err := timeToOpen(ctx, path)
	if err != nil {
		return "", err
	}
	crashed, err := timeAfterCrash(ctx, path)
	if err != nil {
		return "", err
	}
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("A journal with %d intents takes %d MB. Opening it takes %.1f s, and after a crash %.1f s (%s).\n\n",
		n, info.Size()>>20, closed.Seconds(), crashed.Seconds(),
		strings.Replace(reached("5 s", max(closed, crashed) <= openTarget), "≥", "≤", 1)), nil
}

// timeAfterCrash returns how long a copy of a journal takes to open that was not
// closed: it lacks the list of free pages.
func timeAfterCrash(ctx context.Context, path string) (took time.Duration, err error) {
	crashed := path + "-crashed"
	defer os.Remove(crashed)
	defer os.Remove(crashed + ".created")
	s, err := store.Open(ctx, path, store.Options{Kind: store.Journal})
	if err != nil {
		return 0, err
	}
	defer s.Close()
	key := []byte("bench")
	for _, value := range [][]byte{{1}, nil} {
		if err := s.Commit(ctx, nil, []store.Write{{Key: key, Value: value}}); err != nil {
			return 0, err
		}
	}
	if err := copyFile(path, crashed); err != nil {
		return 0, err
	}
	return timeToOpen(ctx, crashed)
}

func copyFile(from, to string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o600)
}

// timeToOpen opens a journal as a daemon does, and closes it.
func timeToOpen(ctx context.Context, path string) (took time.Duration, err error) {
	start := time.Now()
	err = withJournal(ctx, path, func(*journal.Intents) error {
		took = time.Since(start)
		return nil
	})
	return took, err
}

// withJournal opens a journal, lets do use its intents, and closes it.
func withJournal(ctx context.Context, path string, do func(*journal.Intents) error) (err error) {
	s, err := store.Open(ctx, path, store.Options{Kind: store.Journal})
	if err != nil {
		return err
	}
	gathered := &gatherer{Store: s, pending: map[string][]byte{}}
	defer func() { err = errors.Join(err, gathered.flush(ctx), s.Close()) }()
	j, err := journal.Open(ctx, gathered, time.Now)
	if err != nil {
		return err
	}
	minter, err := keygen.NewMinter(ctx, keygen.MinterConfig{
		Class: keygen.ClassJ, Identity: keygen.NewIdentity([32]byte{}, [32]byte{}, [16]byte{1}), Counter: new(counter),
	})
	if err != nil {
		return err
	}
	start := time.Now()
	in, err := j.Intents(ctx, journal.IntentsConfig{
		Minter: minter, Random: rand.Reader, Horizon: journal.DefaultRetain, MaxIntents: 1 << 40, MaxStreams: 1,
		Boot: func() time.Duration { return time.Since(start) },
	})
	if err != nil {
		return err
	}
	return do(in)
}

// nameMany names n intents, by many callers at once.
func nameMany(ctx context.Context, in *journal.Intents, n uint64) error {
	const callers = 1024
	var next atomic.Uint64
	errs := make(chan error, callers)
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			for i := next.Add(1) - 1; i < n; i = next.Add(1) - 1 {
				if _, err := in.Name(ctx, uint32(os.Getuid()), journal.Ask{Intent: fmt.Sprintf("order-%010d", i)}); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	all.Wait()
	close(errs)
	return <-errs
}
