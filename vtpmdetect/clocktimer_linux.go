package vtpmdetect

import (
	"fmt"
	"io"
	"math"
	"os"

	"golang.org/x/sys/unix"
)

// openClockTimer returns a timer that never ends, except that reading from it
// fails with ECANCELED when the wall clock was set or has jumped: timerfd_create
// (2), TFD_TIMER_CANCEL_ON_SET. Slewing is no jump; waking from suspend is one.
func openClockTimer() (io.ReadCloser, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_REALTIME, unix.TFD_CLOEXEC|unix.TFD_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("watch the clock: %w", os.NewSyscallError("timerfd_create", err))
	}
	// Non-blocking, so that Close ends a Read.
	timer := os.NewFile(uintptr(fd), "timerfd")
	never := unix.ItimerSpec{Value: unix.NsecToTimespec(math.MaxInt64)}
	err = unix.TimerfdSettime(fd, unix.TFD_TIMER_ABSTIME|unix.TFD_TIMER_CANCEL_ON_SET, &never, nil)
	if err != nil {
		timer.Close()
		return nil, fmt.Errorf("watch the clock: %w", os.NewSyscallError("timerfd_settime", err))
	}
	return timer, nil
}
