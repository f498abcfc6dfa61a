package server

import (
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/opmint/opmint/keygen"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestAcceptFails: while the system has nothing left for another connection, the
// daemon waits and says so a few times, and then goes on.
func TestAcceptFails(t *testing.T) {
	for _, errno := range []syscall.Errno{syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.ENOBUFS} {
		var tries atomic.Int64
		var log strings.Builder
		inBubble(t, keygen.ClassH, func(s *Server) {
			s.lines = newLines(slog.New(slog.NewTextHandler(&log, nil)))
		}, func(t *testing.T, p *pipes) {
			synctest.Wait()
			// Takes effect once the accept under way has its connection.
			p.fail.Store(new(func() error {
				tries.Add(1)
				return &net.OpError{Op: "accept", Err: os.NewSyscallError("accept4", errno)}
			}))
			p.wantServed(1000)
			time.Sleep(time.Minute)
			p.fail.Store(nil)
			time.Sleep(time.Second)
			p.wantServed(1000)
		})
		if n := tries.Load(); n < 5 || n > 100 {
			t.Errorf("%v: tried %d times in a minute", errno, n)
		}
		if n := strings.Count(log.String(), "\n"); n > linesMost+1 || !strings.Contains(log.String(), errno.Error()) {
			t.Errorf("%v: %d lines in the log:\n%s", errno, n, log.String())
		}
	}
}

// dialAs connects to the daemon as another user, if the test's own may do that, as
// root may; else as its own. The kernel tells the daemon who the thread is that
// connects.
func (d *daemon) dialAs(uid int) *net.UnixConn {
	d.t.Helper()
	if os.Geteuid() != 0 {
		return d.dial()
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	become := func(uid int) {
		if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, ^uintptr(0), uintptr(uid), ^uintptr(0)); errno != 0 {
			d.t.Fatalf("become uid %d: %v", uid, errno)
		}
	}
	become(uid)
	defer become(0)
	return d.dial()
}

// openToAll lets every user use the daemon's socket.
func (d *daemon) openToAll() {
	d.t.Helper()
	dir := filepath.Dir(d.socket)
	for path, mode := range map[string]os.FileMode{d.socket: 0o666, dir: 0o755, filepath.Dir(dir): 0o755} {
		if err := os.Chmod(path, mode); err != nil {
			d.t.Fatal(err)
		}
	}
}

// descriptorsInUse returns how many descriptors the process has open.
func descriptorsInUse(t testing.TB) int {
	t.Helper()
	all, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}

// TestFloodOfAnotherUser: a user who takes all connections that he can get, over
// real sockets, is told so, and does not keep another one from his names. Nothing
// stays behind.
func TestFloodOfAnotherUser(t *testing.T) {
	const stranger, most = 12345, 50
	before := descriptorsInUse(t)
	d := startServerWith(t, 0, Limits{Connections: most})
	d.openToAll()
	first := d.dial()
	flood := []*net.UnixConn{first}
	for range most + 2*turnedAway {
		flood = append(flood, d.dialAs(stranger))
	}
	for _, c := range flood[1+most:] {
		// The rest of it may find the connection closed.
		_, _ = io.WriteString(c, withBody(strings.Repeat("x", 200_000)))
		answer, _, err := readAnswer(c)
		if err != nil || answer.StatusCode != 429 || answer.Header.Get("Retry-After") != "1" {
			t.Errorf("turned away: %v, %v", answer, err)
		}
	}
	if os.Geteuid() == 0 {
		d.wantHundredNames("a flood of another user", 0)
	}
	for _, c := range flood {
		c.Close()
	}
	if err := d.stop(); err != nil {
		t.Error(err)
	}
	// The runtime keeps a few for itself.
	if after := descriptorsInUse(t); after > before+3 {
		t.Errorf("%d descriptors, %d afterwards", before, after)
	}
}

// TestUsersAreToldApart: the daemon does for root what it does not for others.
func TestUsersAreToldApart(t *testing.T) {
	d := startServer(t, 0)
	d.openToAll()
	for uid, want := range map[int]int{os.Geteuid(): 200, 12345: 403, unmapped: 403} {
		c := d.dialAs(uid)
		if _, err := io.WriteString(c, post("/v1/identity/renew")); err != nil {
			t.Fatal(err)
		}
		if os.Geteuid() != 0 {
			want = 200 // it is the daemon's own user
		}
		if answer, _, err := readAnswer(c); err != nil || answer.StatusCode != want {
			t.Errorf("uid %d: %v, %v, want %d", uid, answer, err, want)
		}
	}
}
