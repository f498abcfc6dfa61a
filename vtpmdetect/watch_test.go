package vtpmdetect

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"
)

// fakeTimer stands for a timerfd, since no test may set the machine's clock.
type fakeTimer struct {
	reads  chan error    // what a Read returns
	idle   chan struct{} // sends while a Read waits
	closed chan struct{}
}

func newFakeTimer() *fakeTimer {
	return &fakeTimer{reads: make(chan error), idle: make(chan struct{}), closed: make(chan struct{})}
}

func (f *fakeTimer) Read([]byte) (int, error) {
	for {
		select {
		case f.idle <- struct{}{}:
		case err := <-f.reads:
			return 0, err
		case <-f.closed:
			return 0, os.ErrClosed
		}
	}
}

func (f *fakeTimer) Close() error {
	close(f.closed)
	return nil
}

// step sets the clock, and returns when that has been noticed.
func (f *fakeTimer) step() {
	f.reads <- &os.PathError{Op: "read", Path: "timerfd", Err: syscall.ECANCELED}
	<-f.idle
}

// fakeWatch watches a VM's clock and a wall clock that the test sets.
func fakeWatch(t testing.TB) (*Watch, *hypervisor, *fakeTimer) {
	t.Helper()
	h, timer := newHypervisor(t, 0x1000, vmclockGeneration), newFakeTimer()
	w := watchOf(t, h.path)
	if err := w.steps.close(); err != nil {
		t.Fatal(err)
	}
	w.steps = countClockSteps(timer)
	return w, h, timer
}

func watchOf(t testing.TB, path string) *Watch {
	t.Helper()
	w, err := NewWatch(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

func current(t rapid.TB, w *Watch) Timeline {
	t.Helper()
	timeline, err := w.Current()
	if err != nil {
		t.Fatal(err)
	}
	return timeline
}

// Whatever happens between two looks is seen at the second, once, and as the
// worst of it.
func TestWatchProperty(t *testing.T) {
	w, h, timer := fakeWatch(t)
	rapid.Check(t, func(t *rapid.T) {
		acted := current(t, w)
		want := Unchanged
		t.Repeat(map[string]func(*rapid.T){
			"time":    func(*rapid.T) { h.setTime() },
			"migrate": func(*rapid.T) { h.migrate(); want = max(want, Disturbed) },
			"step":    func(*rapid.T) { timer.step(); want = max(want, Disturbed) },
			"restore": func(*rapid.T) { h.restore(); want = Restored },
			"look": func(t *rapid.T) {
				now := current(t, w)
				if got := now.Since(acted); got != want || (got == Unchanged) != (now == acted) {
					t.Fatalf("%v since %v is %v, want %v", now, acted, got, want)
				}
				acted, want = now, Unchanged
			},
		})
	})
}

// A machine without a VM clock, and one whose hypervisor counts no generations.
func TestWatchWithoutGeneration(t *testing.T) {
	for _, path := range []string{"", filepath.Join(t.TempDir(), "vmclock0")} {
		w := watchOf(t, path)
		if got := current(t, w); got != (Timeline{}) {
			t.Errorf("watch of %q: %+v, want nothing", path, got)
		}
	}
	h := newHypervisor(t, 0x68, vmclockGeneration)
	w := watchOf(t, h.path)
	before := current(t, w)
	h.migrate()
	if got := current(t, w).Since(before); got != Disturbed {
		t.Errorf("migrated: %v, want %v", got, Disturbed)
	}
}

func TestWatchRefuses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "vmclock0")
	if err := os.WriteFile(path, []byte("VCLK"), 0o600); err != nil {
		t.Fatal(err)
	}
	if w, err := NewWatch(path); err == nil || w != nil || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("NewWatch of garbage: %v, %v", w, err)
	}
}

// An owner acts on what a Watch sees, as the package comment says. A mint says
// under which Timeline its minter was made.
type owner struct {
	watch *Watch
	acted atomic.Pointer[Timeline]
	mu    sync.Mutex
}

func (o *owner) mint() (Timeline, error) {
	for {
		minter := o.acted.Load()
		now, err := o.watch.Current()
		if err != nil {
			return Timeline{}, err
		}
		if now == *minter {
			return *minter, nil
		}
		o.mu.Lock()
		if o.acted.Load() == minter {
			o.acted.Store(&now)
		}
		o.mu.Unlock()
	}
}

// Whoever begins to mint after a restore gets a name of a minter that was made
// after it, whoever else mints at the same time. In a bubble, where no time passes
// while the hypervisor is put off the CPU in the middle of writing.
func TestWatchOwners(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const restores, minters = 1000, 4
		w, h, _ := fakeWatch(t)
		o := &owner{watch: w}
		first := current(t, w)
		o.acted.Store(&first)
		var restored atomic.Uint64 // the generation that is known to have been set
		restored.Store(first.Generation)
		var wg sync.WaitGroup
		stop := make(chan struct{})
		for range minters {
			wg.Go(func() {
				for {
					known := restored.Load()
					if got, err := o.mint(); err != nil || got.Generation < known {
						t.Errorf("minted in generation %d, after %d: %v", got.Generation, known, err)
						return
					}
					select {
					case <-stop:
						return
					default:
					}
				}
			})
		}
		for range restores {
			h.restore()
			restored.Store(h.page.generation)
			runtime.Gosched()
		}
		close(stop)
		wg.Wait()
	})
}

func TestWatchCost(t *testing.T) {
	w, _, _ := fakeWatch(t)
	if n := testing.AllocsPerRun(100, func() { current(t, w) }); n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
}

func BenchmarkWatchCurrent(b *testing.B) {
	w, _, _ := fakeWatch(b)
	for b.Loop() {
		if _, err := w.Current(); err != nil {
			b.Fatal(err)
		}
	}
}

// A caller who is late gets an error, not a page that is gone.
func TestWatchClosed(t *testing.T) {
	h := newHypervisor(t, 0x1000, vmclockGeneration)
	w, err := NewWatch(h.path)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	if _, err := w.Current(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("Current after Close: %v, want os.ErrClosed", err)
	}
}

// A timer that fails may have missed a step: that counts as one, and Close
// tells.
func TestWatchLosesTheClock(t *testing.T) {
	timer := newFakeTimer()
	w := &Watch{steps: countClockSteps(timer)}
	timer.reads <- syscall.EIO
	<-w.steps.done
	if got := current(t, w); got != (Timeline{ClockSteps: 1}) {
		t.Errorf("%+v, want one step", got)
	}
	if err := w.Close(); !errors.Is(err, syscall.EIO) {
		t.Errorf("Close: %v, want EIO", err)
	}
}
