package tpm

import (
	"context"
	"encoding/binary"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/go-tpm/tpm2"
	"github.com/opmint/opmint/swtpm"
)

// A rig is a TPM under test, the Device on it, and ways to meddle.
type rig struct {
	t      testing.TB
	soft   *swtpm.TPM // the process, if that is what it is
	dev    *Device
	opener func(context.Context) (wire, error)
	// running is held for reading by each exchange, also one that was given up.
	running sync.RWMutex

	mu      sync.Mutex
	hook    hook // asked for each command of each Device
	dropped bool // a connection was lost: the TPM is dirty until the next one
}

// A hook stands between a Device and its TPM. next passes the command on.
type hook func(cc tpm2.TPMCC, cmd []byte, next exchange) ([]byte, bool, error)

type exchange func(cmd []byte) ([]byte, bool, error)

// eachTPM runs a test on each TPM there is for tests. After it, the TPM's
// memory must be as empty as before.
func eachTPM(t *testing.T, test func(t *testing.T, r *rig)) {
	t.Run("swtpm", func(t *testing.T) { test(t, swtpmRig(t)) })
	t.Run("reference", func(t *testing.T) { test(t, referenceRig(t)) })
	t.Run("reference, shared", func(t *testing.T) { test(t, sharedRig(t)) })
}

// swtpmRig is swtpm behind a socket: one connection at a time, nobody cleans up.
func swtpmRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{t: t, soft: swtpm.StartTest(t)}
	var err error
	if r.dev, err = Open(r.soft.Addr()); err != nil {
		t.Fatal(err)
	}
	r.opener = r.dev.connect
	return r.install()
}

// referenceRig is Microsoft's reference TPM, used in the same way.
func referenceRig(t testing.TB) *rig {
	t.Helper()
	chip := newChip(t)
	turn := make(chan struct{}, 1)
	r := &rig{t: t, dev: &Device{addr: "reference"}}
	r.opener = func(ctx context.Context) (wire, error) {
		select {
		case turn <- struct{}{}:
			return &simWire{chip: chip, closed: func() { <-turn }}, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return r.install()
}

// sharedRig is the reference TPM as behind the kernel's resource manager: the
// commands of several connections mix, and what a connection leaves is flushed.
func sharedRig(t testing.TB) *rig {
	t.Helper()
	chip := newChip(t)
	r := &rig{t: t, dev: &Device{addr: "reference", managed: true}}
	r.opener = func(context.Context) (wire, error) {
		return &simWire{chip: chip, managed: true, closed: func() {}}, nil
	}
	return r.install()
}

func (r *rig) install() *rig {
	r.dev = r.device()
	r.t.Cleanup(r.checkEmpty)
	return r
}

// device returns another Device on the same TPM, with the same hook.
func (r *rig) device() *Device {
	d := &Device{addr: r.dev.addr, managed: r.dev.managed, turn: make(chan struct{}, 1), closed: make(chan struct{})}
	d.connect = func(ctx context.Context) (wire, error) {
		w, err := r.opener(ctx)
		if err != nil {
			return nil, err
		}
		return &hookWire{r, w}, nil
	}
	return d
}

// meddle sets the hook; nil takes it away.
func (r *rig) meddle(h hook) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.hook = h
}

// raw runs commands on a connection that neither flushes nor is meddled with.
func (r *rig) raw(f func(l *link)) {
	r.t.Helper()
	w, err := r.opener(context.Background())
	if err != nil {
		r.t.Fatal(err)
	}
	defer w.close()
	f(&link{ctx: context.Background(), wire: w})
}

// must runs one raw command, which has to succeed.
func must[R any, PR *R](r *rig, cmd tpm2.Command[R, PR]) PR {
	r.t.Helper()
	var rsp PR
	r.raw(func(l *link) {
		r.t.Helper()
		var err error
		if rsp, err = run(l, cmd); err != nil {
			r.t.Fatalf("%T: %v", cmd, err)
		}
	})
	return rsp
}

// checkEmpty fails the test if an object or a session is left in the TPM.
func (r *rig) checkEmpty() {
	r.meddle(nil)
	r.running.Lock() // waits for a command that was given up
	dropped := r.dropped
	r.running.Unlock()
	if dropped {
		// On a socket the next connection cleans up.
		if _, err := r.dev.Properties(context.Background()); err != nil {
			r.t.Errorf("after the test: %v", err)
		}
	}
	r.raw(func(l *link) {
		for kind, name := range map[tpm2.TPMHT]string{
			tpm2.TPMHTTransient: "objects", tpm2.TPMHTPersistent: "persistent objects",
			tpm2.TPMHTHMACSession: "loaded sessions", tpm2.TPMHTPolicySession: "saved sessions",
		} {
			if left, err := l.handles(kind); err != nil || len(left) > 0 {
				r.t.Errorf("%s left in the TPM: %x %v", name, left, err)
			}
		}
	})
}

// hookWire passes commands through the rig's hook.
type hookWire struct {
	rig  *rig
	wire wire
}

func (w *hookWire) exchange(cmd []byte, deadline time.Time) ([]byte, bool, error) {
	w.rig.running.RLock()
	defer w.rig.running.RUnlock()
	next := func(cmd []byte) ([]byte, bool, error) { return w.wire.exchange(cmd, deadline) }
	w.rig.mu.Lock()
	h := w.rig.hook
	w.rig.mu.Unlock()
	if h == nil {
		return next(cmd)
	}
	rsp, sent, err := h(code(cmd), cmd, next)
	if err != nil {
		w.rig.mu.Lock()
		w.rig.dropped = true
		w.rig.mu.Unlock()
	}
	return rsp, sent, err
}

func (w *hookWire) close() { w.wire.close() }

// code returns the command code of a command, or the error code of an answer.
func code(message []byte) tpm2.TPMCC { return tpm2.TPMCC(binary.BigEndian.Uint32(message[6:])) }

// answer is an answer without parameters.
func answer(rc tpm2.TPMRC) []byte {
	return binary.BigEndian.AppendUint32([]byte{0x80, 0x01, 0, 0, 0, 10}, uint32(rc))
}

// newCounter returns a Counter on the rig's TPM with the state in dir.
func (r *rig) newCounter(dir string) *Counter {
	r.t.Helper()
	c, err := NewCounter(CounterConfig{Device: r.device(), StateDir: dir})
	if err != nil {
		r.t.Fatal(err)
	}
	return c
}

// counter returns a defined Counter and its state folder.
func (r *rig) counter() (*Counter, string) {
	r.t.Helper()
	dir := r.t.TempDir()
	c := r.newCounter(dir)
	if err := c.Define(context.Background()); err != nil {
		r.t.Fatal(err)
	}
	return c, dir
}

// twin returns another daemon's Counter on the same index: it was given a copy
// of index.auth and nothing else.
func (r *rig) twin(dir string) *Counter {
	r.t.Helper()
	auth, err := os.ReadFile(filepath.Join(dir, authFile))
	if err != nil {
		r.t.Fatal(err)
	}
	other := r.t.TempDir()
	if err := os.WriteFile(filepath.Join(other, authFile), auth, 0o600); err != nil {
		r.t.Fatal(err)
	}
	c := r.newCounter(other)
	if err := c.Define(context.Background()); err != nil {
		r.t.Fatal(err)
	}
	return c
}

// next claims a value, which has to succeed.
func (r *rig) next(c *Counter) uint64 {
	r.t.Helper()
	v, err := c.Next(context.Background())
	if err != nil {
		r.t.Fatal(err)
	}
	return v
}
