// Package soak_test does in small what a year brings: names for many clients, by
// leases, while the daemon is stopped and killed and its TPM loses power.
//
//	go test ./soak                    a first look
//	go test ./soak -names 50000000    what a year brings
package soak_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"github.com/opmint/opmint/api"
	"github.com/opmint/opmint/keygen"
)

var names = flag.Int64("names", 500_000, "how many `names` to mint in all")

const (
	clients   = 8
	batch     = 64       // names that a client mints at a time
	memory    = 64 << 20 // bytes, to remember which numbers were seen
	heapSlack = 4 << 20  // bytes, by which the heap may be larger afterwards
)

// What can happen, and how often each does.
const (
	times = 6

	stopped = iota - 1
	killed
	tpmFailed
	bothFailed
	happenings
)

// TestYear: no number twice, and nothing is left behind.
func TestYear(t *testing.T) {
	dir := t.TempDir()
	if out, err := exec.Command("go", "build", "-o", dir, "../cmd/opmintd").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	socket := filepath.Join(dir, "s")
	w := newWorld(t, "--socket", socket, "--state", filepath.Join(dir, "state"),
		"--names-per-epoch", strconv.FormatInt(max(*names/50, 1<<17), 10))
	before := goleak.IgnoreCurrent()
	files, heap, daemonFiles := descriptors(os.Getpid()), heapInUse(), w.descriptors()

	var seen seen
	errs := w.year(socket, &seen)
	t.Logf("%d starts of the daemon, %d errors, %d bytes", w.starts, errs, seen.bytes())
	if seen.bytes() > memory {
		t.Errorf("it took %d bytes to remember %d names", seen.bytes(), *names)
	}
	if errs == 0 {
		t.Error("nobody noticed that the daemon was away")
	}
	t.Logf("until the daemon has %d descriptors, as without clients", daemonFiles)
	for w.descriptors() > daemonFiles {
		runtime.Gosched() // it notices that its clients have gone when it comes to it
	}
	w.end()
	seen.blocks.Clear()
	if got := heapInUse(); got > heap+heapSlack {
		t.Errorf("the heap grew from %d to %d bytes", heap, got)
	}
	goleak.VerifyNone(t, before)
	if got := descriptors(os.Getpid()); got > files {
		t.Errorf("%d descriptors, %d before", got, files)
	}
}

// year lets clients mint, and something happens in the middle of each of its parts.
// It returns how many errors they saw.
func (w *world) year(socket string, s *seen) (errs int64) {
	all := make([]*client, clients)
	for i := range all {
		all[i] = &client{world: w, Minter: (&api.Client{Socket: socket}).Minter(), reader: reader{seen: s}}
		defer all[i].Close()
	}
	// The order is always the same.
	for _, what := range rand.New(rand.NewPCG(7, 1)).Perm(times * happenings) {
		if w.t.Failed() {
			break
		}
		errs += w.part(all, *names/(times*happenings), what%happenings)
	}
	return errs
}

// part lets clients mint so many names. When half of them are there something
// happens.
func (w *world) part(all []*client, names int64, what int) int64 {
	var left, errs atomic.Int64
	left.Store(names)
	half, done := make(chan struct{}), make(chan struct{})
	var minting sync.WaitGroup
	for _, c := range all {
		minting.Go(func() {
			for !w.t.Failed() {
				after := left.Add(-batch)
				if after <= names/2 && after+batch > names/2 {
					close(half)
				}
				if after <= -batch {
					return
				}
				errs.Add(c.mint())
			}
		})
	}
	go func() { minting.Wait(); close(done) }()
	select {
	case <-half:
		if err := w.happen(what); err != nil {
			w.t.Error(err)
		}
	case <-done:
	}
	<-done
	return errs.Load()
}

// client is one of those who mint.
type client struct {
	*world
	*api.Minter
	reader
}

// mint mints a batch of names, and returns how many errors came before they were
// there.
func (c *client) mint() (errs int64) {
	buf := make([]byte, 0, keygen.Length)
	for i := 0; i < batch; {
		name, err := c.AppendName(c.t.Context(), buf)
		if err != nil {
			errs++
			c.inTrouble()
			continue
		}
		if err := c.add(name); err != nil {
			c.t.Error(err)
			return errs
		}
		i++
	}
	return errs
}

// happen lets something happen.
func (w *world) happen(what int) error {
	switch what {
	case stopped:
		w.send(syscall.SIGTERM)
	case killed:
		w.send(syscall.SIGKILL)
	case tpmFailed:
		return w.failTPM(0)
	case bothFailed:
		return w.failTPM(syscall.SIGKILL)
	}
	return nil
}

func heapInUse() uint64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

// descriptors returns how many files a process has open: none once it has ended.
func descriptors(pid int) int {
	entries, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	return len(entries)
}
