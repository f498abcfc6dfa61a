package vtpmdetect

import (
	"fmt"
	"os"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"
)

// vmclockPage is the head of the page that a hypervisor shares with its guest
// (UAPI.13 VMClock; vmclock-abi.h of Linux). It is little-endian: on big-endian
// machines, where no hypervisor has it, the magic does not match.
type vmclockPage struct {
	magic      uint32 // like size and version it never changes
	size       uint32 // of the whole, in bytes
	version    uint16
	_          [2]byte
	seq        uint32 // odd while the rest is being written
	disruption uint64 // changes when the CPU's counter jumps, as by migration
	flags      uint64
	_          [0x48]byte // the time
	generation uint64     // changes when the VM is loaded from a snapshot
}

const (
	vmclockMagic      = 0x4b4c4356 // "VCLK"
	vmclockVersion    = 1
	vmclockMinSize    = unsafe.Offsetof(vmclockPage{}.flags) + unsafe.Sizeof(vmclockPage{}.flags)
	vmclockGeneration = 1 << 8 // the flag that there is a generation
)

// How often to look at a page that is being written: at once, and then at
// intervals, for as long as Linux does (VMCLOCK_MAX_WAIT, 100 ms). It takes the
// hypervisor less than a microsecond, unless it is put off the CPU meanwhile.
const (
	vmclockSpins = 100
	vmclockWaits = 100
	vmclockWait  = time.Millisecond
)

// vmclock is such a page, mapped into memory.
type vmclock struct {
	page    *vmclockPage
	mapping []byte
	// sized: the page is long enough to have a generation.
	sized bool
}

// mapVMClock maps the page of a device, or of a file with that layout.
func mapVMClock(path string) (*vmclock, error) {
	// To open a FIFO would block.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	length := os.Getpagesize() // the driver takes no other
	// To read a mapping beyond the end of its file would kill the process.
	if info.Mode().IsRegular() && info.Size() < int64(length) {
		return nil, fmt.Errorf("%s has %d bytes, want a page of %d", path, info.Size(), length)
	}
	mapping, err := mapPage(f, length)
	if err != nil {
		return nil, &os.PathError{Op: "mmap", Path: path, Err: err}
	}
	p := (*vmclockPage)(unsafe.Pointer(&mapping[0]))
	if p.magic != vmclockMagic || p.version != vmclockVersion || p.size < uint32(vmclockMinSize) {
		err := fmt.Errorf("%s is no VM clock: magic 0x%08x, version %d, %d bytes", path, p.magic, p.version, p.size)
		unmap(mapping)
		return nil, err
	}
	return &vmclock{page: p, mapping: mapping, sized: p.size >= uint32(unsafe.Sizeof(*p))}, nil
}

// read returns the two values as they stood together; the generation is 0
// where none is counted.
func (v *vmclock) read() (disruption, generation uint64, err error) {
	for i := range vmclockSpins + vmclockWaits {
		if i >= vmclockSpins {
			time.Sleep(vmclockWait)
		}
		if disruption, generation, ok := v.try(); ok {
			return disruption, generation, nil
		}
	}
	return 0, 0, ErrUnsettled
}

// try fails if the page was being written. Atomic loads keep their order, which
// matches that of the hypervisor's stores.
func (v *vmclock) try() (disruption, generation uint64, ok bool) {
	seq := atomic.LoadUint32(&v.page.seq)
	disruption = atomic.LoadUint64(&v.page.disruption)
	if v.sized && atomic.LoadUint64(&v.page.flags)&vmclockGeneration != 0 {
		generation = atomic.LoadUint64(&v.page.generation)
	}
	return disruption, generation, seq&1 == 0 && atomic.LoadUint32(&v.page.seq) == seq
}
