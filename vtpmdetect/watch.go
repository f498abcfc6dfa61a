package vtpmdetect

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
)

// VMClock is the device by which Linux 6.13 and later shows a virtual machine
// whether it was taken back in time. Without a rule of udev's only root may
// read it.
const VMClock = "/dev/vmclock0"

// ErrUnsettled: the hypervisor has been writing the VM's clock for 100 ms and
// more. What it will say is not known; nothing may be named before it is. Trying
// again may help.
var ErrUnsettled = errors.New("the VM's clock does not settle: its hypervisor is in the middle of writing it")

// A Watch tells whether the machine may have been taken back in time while it
// ran. Its methods may be called by several goroutines.
type Watch struct {
	clock *vmclock // nil: the machine has none
	steps *clockSteps
}

// NewWatch begins to watch the wall clock, and the VM clock at path: VMClock. A
// machine on which path does not exist is watched without it, and so is one with
// an empty path. A VM clock that is there and cannot be used is an error, which
// for want of permission is fs.ErrPermission.
func NewWatch(path string) (*Watch, error) {
	w := &Watch{}
	if path != "" {
		clock, err := mapVMClock(path)
		switch {
		case err == nil:
			w.clock = clock
			// Not unmapped by Close: a caller who is late would crash.
			runtime.AddCleanup(w, unmap, clock.mapping)
		case !errors.Is(err, fs.ErrNotExist):
			return nil, fmt.Errorf("watch the VM's clock: %w", err)
		}
	}
	timer, err := openClockTimer()
	if err != nil {
		return nil, err
	}
	w.steps = countClockSteps(timer)
	return w, nil
}

// Close ends the watch: Current fails from now on. It is called once, and its
// error may come from earlier.
func (w *Watch) Close() error {
	if err := w.steps.close(); err != nil {
		return fmt.Errorf("watch the clock: %w", err)
	}
	return nil
}

// Current looks. It takes some nanoseconds and allocates nothing; while the VM
// clock is being written, it waits. Its error is ErrUnsettled, or os.ErrClosed.
func (w *Watch) Current() (Timeline, error) {
	if w.steps.closing.Load() {
		return Timeline{}, fmt.Errorf("watch the clock: %w", os.ErrClosed)
	}
	t := Timeline{ClockSteps: w.steps.count.Load()}
	var err error
	if w.clock != nil {
		t.Disruption, t.Generation, err = w.clock.read()
	}
	runtime.KeepAlive(w) // and with it the mapping
	if err != nil {
		return Timeline{}, err
	}
	return t, nil
}

// A Timeline is what a Watch saw. Two that are equal are of one unbroken run of
// the machine, as far as a Watch can tell.
//
// The values are for comparison, in this process and nowhere else, and for the
// record of what happened. All machines that were restored from one snapshot
// read the same ones, so they must never become part of a name.
type Timeline struct {
	Generation uint64 // vm_generation_counter of the VM clock; 0 without one
	Disruption uint64 // disruption_marker of the VM clock; 0 without one
	ClockSteps uint64 // how often the wall clock was set or jumped since NewWatch
}

// Change is what happened between two Timelines. The greater one demands more.
type Change int

// What can have happened.
const (
	// Unchanged: nothing, as far as a Watch can tell.
	Unchanged Change = iota
	// Disturbed: the clock jumped, or the machine was migrated. Harmless, or
	// the only trace of something that was not: names need a new epoch.
	Disturbed
	// Restored: the machine was restored from a snapshot or cloned, and goes on
	// from a moment from which others may go on as well: names need a new
	// epoch and a new minter.
	Restored
)

// Since returns what happened between acted and t.
func (t Timeline) Since(acted Timeline) Change {
	switch {
	case t.Generation != acted.Generation:
		return Restored
	case t != acted:
		return Disturbed
	}
	return Unchanged
}
