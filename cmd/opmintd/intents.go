package main

import (
	"context"
	"fmt"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"github.com/opmint/opmint/journal"
)

// keepRetry is when to try again to forget what is due, where that failed.
const keepRetry = time.Minute

// openIntents opens the journal's intents.
func (d *daemon) openIntents(ctx context.Context, m *mint) (*journal.Intents, error) {
	if _, err := bootTime(); err != nil {
		return nil, fmt.Errorf("read the boot-time clock: %w", err)
	}
	return d.state.journal.Intents(ctx, journal.IntentsConfig{
		Minter: m, Random: m.random, Boot: sinceBoot, Horizon: time.Duration(d.horizon),
		MaxIntents: uint64(d.maxIntents), MaxStreams: uint64(d.maxStreams),
		Failed: func(err error) { _ = m.judgeError(err) }, // who asked has it too
	})
}

// beginToKeep begins to forget intents that are due. The returned function ends
// that, before the journal is closed.
func (m *mint) beginToKeep(in *journal.Intents) (end func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var keeper sync.WaitGroup
	keeper.Go(func() { m.keep(ctx, in) })
	return func() { cancel(); keeper.Wait() }
}

// keep forgets intents that are due until ctx ends.
func (m *mint) keep(ctx context.Context, in *journal.Intents) {
	for {
		err := in.Keep(ctx)
		if err != nil {
			m.log.Error("cannot forget what is due", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(keepRetry):
		}
	}
}

// clockBoottime is CLOCK_BOOTTIME of clock_gettime(2).
const clockBoottime = 7

// bootTime reads the clock that nobody sets and that goes on while the machine
// sleeps.
func bootTime() (time.Duration, error) {
	var t syscall.Timespec
	if _, _, errno := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, clockBoottime, uintptr(unsafe.Pointer(&t)), 0); errno != 0 {
		return 0, errno
	}
	return time.Duration(t.Nano()), nil
}

// sinceBoot is bootTime where that is known to work.
func sinceBoot() time.Duration {
	t, _ := bootTime()
	return t
}
