package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// The crowd: clients that are of no use to anybody.
const (
	silentClients = 200 // connect and say nothing
	halfClients   = 50  // send half a request
	deafClients   = 50  // ask for a million names and read none
)

// crowdMints is how many names the honest client mints, one after the other, for
// each figure: of 2,000 times the 99th percentile has 20 above it.
const crowdMints = 2000

// crowdUID is another user than the honest client.
const crowdUID = 65533

// crowdTargets are the times that the honest client may take, as a multiple of
// those without the crowd.
var crowdTargets = struct{ median, percentile float64 }{2, 10}

// crowdTable measures how long one honest client waits for a name while a crowd
// has the daemon, of the same user and of another.
func crowdTable(s *servers, rounds int) (string, error) {
	// As where there is a group that may use the socket.
	if err := errors.Join(os.Chmod(filepath.Dir(s.opmintd), 0o711), os.Chmod(s.opmintd, 0o666)); err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "| crowd of | median | 99th percentile | target |\n|---|---:|---:|---|\n")
	for _, who := range []struct {
		name string
		uid  int
	}{{"the client's own user", unix.Getuid()}, {"another user", crowdUID}} {
		var medians, percentiles []float64
		for range rounds {
			alone, err := mintTimes(s.opmintd)
			if err != nil {
				return "", err
			}
			crowd, err := gather(s.opmintd, who.uid)
			if err != nil {
				return "", errors.Join(err, disperse(crowd))
			}
			among, err := mintTimes(s.opmintd)
			if err = errors.Join(err, disperse(crowd)); err != nil {
				return "", err
			}
			medians = append(medians, ratioAt(among, alone, 50))
			percentiles = append(percentiles, ratioAt(among, alone, 99))
		}
		m, p := median(medians), median(percentiles)
		verdict := "reached"
		if m > crowdTargets.median || p > crowdTargets.percentile {
			verdict = "**missed**"
		}
		fmt.Fprintf(&b, "| %s | %.2f | %.2f | ≤ %.0f, ≤ %.0f: %s |\n",
			who.name, m, p, crowdTargets.median, crowdTargets.percentile, verdict)
	}
	fmt.Fprintf(&b, "\nTime for a name beside %d silent clients, %d with half a request and %d that read nothing, as a multiple of\n"+
		"that without them; medians of %d rounds.\n", silentClients, halfClients, deafClients, rounds)
	return b.String(), nil
}

// mintTimes mints names one by one over a kept connection and returns how long
// each took, sorted.
func mintTimes(socket string) ([]time.Duration, error) {
	l := newLoad(socket, 1, true, mintOne)
	defer func() {
		if c := l.clients[0].conn; c != nil {
			c.Close()
		}
	}()
	times := make([]time.Duration, crowdMints)
	for i := range times {
		began := time.Now()
		if err := l.run(1); err != nil {
			return nil, err
		}
		times[i] = time.Since(began)
	}
	slices.Sort(times)
	return times, nil
}

// ratioAt compares the given percentile of two sorted lists of times.
func ratioAt(a, b []time.Duration, percent int) float64 {
	i := len(a) * percent / 100
	return float64(a[i]) / float64(b[i])
}

// gather connects the crowd as user uid.
func gather(socket string, uid int) (crowd []net.Conn, err error) {
	// The kernel notes who connects by the thread, which is thrown away after.
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, ^uintptr(0), uintptr(uid), ^uintptr(0)); errno != 0 {
			err = fmt.Errorf("become user %d: %w", uid, errno)
			return
		}
		for i := range silentClients + halfClients + deafClients {
			var c net.Conn
			if c, err = net.Dial("unix", socket); err != nil {
				return
			}
			crowd = append(crowd, c)
			request := mintMany.request
			switch {
			case i < silentClients:
				continue
			case i < silentClients+halfClients:
				request = request[:len(request)/2]
			}
			if _, err = c.Write(request); err != nil {
				return
			}
		}
	}()
	<-done
	return crowd, err
}

// disperse sends the crowd away.
func disperse(crowd []net.Conn) error {
	var errs []error
	for _, c := range crowd {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}
