package ledger

import (
	"syscall"
	"time"
	"unsafe"
)

// clockBoottime is CLOCK_BOOTTIME of clock_gettime(2): what Go's monotonic time leaves
// out, a machine's sleep, counts.
const clockBoottime = 7

func (systemClock) Boot() time.Duration {
	var t syscall.Timespec
	if _, _, failed := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, clockBoottime, uintptr(unsafe.Pointer(&t)), 0); failed != 0 {
		return sinceStart()
	}
	return time.Duration(t.Nano())
}
