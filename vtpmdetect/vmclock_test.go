package vtpmdetect

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"unsafe"

	"golang.org/x/sys/unix"
)

// hypervisor writes the page of a VM clock, which a guest has mapped.
type hypervisor struct {
	path string
	page *vmclockPage
}

// vmclockBytes is a page as the specification prints it.
func vmclockBytes(size uint32, flags uint64) []byte {
	page := make([]byte, os.Getpagesize())
	copy(page, "VCLK")
	binary.LittleEndian.PutUint32(page[0x04:], size)
	binary.LittleEndian.PutUint16(page[0x08:], 1)
	binary.LittleEndian.PutUint32(page[0x0c:], 4)
	binary.LittleEndian.PutUint64(page[0x10:], 7)
	binary.LittleEndian.PutUint64(page[0x18:], flags)
	binary.LittleEndian.PutUint64(page[0x68:], 5)
	return page
}

func newHypervisor(t testing.TB, size uint32, flags uint64) *hypervisor {
	t.Helper()
	h := &hypervisor{path: filepath.Join(t.TempDir(), "vmclock0")}
	if err := os.WriteFile(h.path, vmclockBytes(size, flags), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(h.path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	mapping, err := unix.Mmap(int(f.Fd()), 0, os.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unmap(mapping) })
	h.page = (*vmclockPage)(unsafe.Pointer(&mapping[0]))
	return h
}

// update changes the page as the specification has it: seq is odd meanwhile.
func (h *hypervisor) update(change func(*vmclockPage)) {
	atomic.AddUint32(&h.page.seq, 1)
	change(h.page)
	atomic.AddUint32(&h.page.seq, 1)
}

func (h *hypervisor) restore() {
	h.update(func(p *vmclockPage) { atomic.AddUint64(&p.generation, 1) })
}

func (h *hypervisor) migrate() {
	h.update(func(p *vmclockPage) { atomic.AddUint64(&p.disruption, 1) })
}

// setTime is what a hypervisor does all the time.
func (h *hypervisor) setTime() { h.update(func(*vmclockPage) {}) }

func mapped(t *testing.T, h *hypervisor) *vmclock {
	t.Helper()
	v, err := mapVMClock(h.path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unmap(v.mapping) })
	return v
}

func TestVMClockLayout(t *testing.T) {
	for _, c := range []struct {
		size       uint32
		flags      uint64
		generation uint64
	}{
		{0x1000, 1 << 8, 5},
		{0x1000, 1<<8 | 1<<0 | 1<<9, 5},
		{0x70, 1 << 8, 5},
		{0x68, 1 << 8, 0},
		{0x20, 1 << 8, 0},
		{0x1000, 1 << 7, 0},
		{0x1000, 0, 0},
	} {
		v := mapped(t, newHypervisor(t, c.size, c.flags))
		disruption, generation, err := v.read()
		if err != nil || disruption != 7 || generation != c.generation {
			t.Errorf("size %#x, flags %#x: marker %d, generation %d, %v; want 7, %d",
				c.size, c.flags, disruption, generation, err, c.generation)
		}
	}
}

func TestVMClockRefuses(t *testing.T) {
	good := vmclockBytes(0x1000, 1<<8)
	with := func(offset int, b byte) []byte {
		page := bytes.Clone(good)
		page[offset] = b
		return page
	}
	dir := t.TempDir()
	for name, c := range map[string]struct {
		content []byte
		want    string
	}{
		"magic":   {with(0, 'X'), "is no VM clock: magic 0x4b4c4358, version 1, 4096 bytes"},
		"version": {with(8, 2), "is no VM clock: magic 0x4b4c4356, version 2"},
		"size":    {vmclockBytes(0x1f, 1<<8), "is no VM clock"},
		"zeros":   {make([]byte, len(good)), "is no VM clock"},
		"short":   {good[:len(good)-1], "want a page of"},
		"empty":   {nil, "has 0 bytes"},
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, c.content, 0o600); err != nil {
			t.Fatal(err)
		}
		if v, err := mapVMClock(path); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, %v; want %q", name, v, err, c.want)
		}
	}
	fifo := filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{fifo, dir, "/dev/null"} {
		if v, err := mapVMClock(path); err == nil {
			t.Errorf("%s: %v, want an error", path, v)
		}
	}
}

// While the page is being written, nobody gets to see half of it.
func TestVMClockBeingWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHypervisor(t, 0x1000, 1<<8)
		v := mapped(t, h)
		type result struct {
			disruption, generation uint64
			err                    error
		}
		got := make(chan result)
		h.update(func(p *vmclockPage) {
			atomic.StoreUint64(&p.disruption, 8)
			go func() {
				disruption, generation, err := v.read()
				got <- result{disruption, generation, err}
			}()
			synctest.Wait() // the reader waits by now
			atomic.StoreUint64(&p.generation, 6)
		})
		if r := <-got; r != (result{8, 6, nil}) {
			t.Errorf("read %+v, want marker 8 and generation 6", r)
		}
	})
}

// A hypervisor that has died in the middle of it is not waited for for ever.
func TestVMClockStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHypervisor(t, 0x1000, 1<<8)
		v := mapped(t, h)
		atomic.AddUint32(&h.page.seq, 1)
		if _, _, err := v.read(); !errors.Is(err, ErrUnsettled) {
			t.Errorf("read: %v, want ErrUnsettled", err)
		}
		atomic.AddUint32(&h.page.seq, 1)
		if _, generation, err := v.read(); err != nil || generation != 5 {
			t.Errorf("read: generation %d, %v; want 5", generation, err)
		}
	})
}

// Two values that are always written together are always read together.
func TestVMClockNotTorn(t *testing.T) {
	h := newHypervisor(t, 0x1000, vmclockGeneration)
	v := mapped(t, h)
	written := make(chan struct{})
	go func() {
		defer close(written)
		for range 200_000 {
			h.update(func(p *vmclockPage) {
				atomic.AddUint64(&p.disruption, 1)
				atomic.AddUint64(&p.generation, 1)
			})
		}
	}()
	for {
		if disruption, generation, ok := v.try(); ok && disruption != generation+2 {
			t.Errorf("marker %d with generation %d", disruption, generation)
			<-written
			return
		}
		select {
		case <-written:
			return
		default:
		}
	}
}
