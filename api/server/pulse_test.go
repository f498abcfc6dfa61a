package server

import (
	"bufio"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/opmint/opmint/keygen"
)

// ears hear what a service manager is told.
type ears struct {
	t    *testing.T
	conn *net.UnixConn
}

func newEars(t *testing.T) ears {
	t.Helper()
	path := filepath.Join(t.TempDir(), "notify")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	t.Setenv("NOTIFY_SOCKET", path)
	return ears{t, conn}
}

// hear returns what was told up to now.
func (e ears) hear(s *Server) (told []string) {
	e.t.Helper()
	const end = "X_END=1"
	s.notify(end)
	for buf := make([]byte, 4096); ; {
		n, err := e.conn.Read(buf)
		if err != nil {
			e.t.Fatal(err)
		}
		if string(buf[:n]) == end {
			return told
		}
		told = append(told, string(buf[:n]))
	}
}

// newPulsed returns a pulse of a server that does not serve, with a listener that
// has room for so many who wait.
func newPulsed(t *testing.T, room int) (*pulse, *strings.Builder) {
	t.Helper()
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "s")
	if err := errors.Join(unix.Bind(fd, &unix.SockaddrUnix{Name: path}), unix.Listen(fd, room)); err != nil {
		t.Fatal(err)
	}
	file := os.NewFile(uintptr(fd), path)
	defer file.Close()
	l, err := takeOver(file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	var log strings.Builder
	s, _ := newServer(t, keygen.ClassH, 0)
	s.Log = slog.New(slog.NewTextHandler(&log, nil))
	return &pulse{server: s, listener: l, interval: time.Minute, watched: true}, &log
}

// TestPulseStuck: a watchdog gets nothing from a daemon that does not answer.
func TestPulseStuck(t *testing.T) {
	heard := newEars(t)
	p, log := newPulsed(t, 10)
	p.interval = time.Millisecond
	p.look(t.Context())
	if told := heard.hear(p.server); len(told) > 0 || !strings.Contains(log.String(), "does not answer itself") {
		t.Errorf("it tells %q, and the log says %q", told, log)
	}
}

// TestPulseCrowded: a daemon to which more clients connect than there is room for is
// busy, and not stuck.
func TestPulseCrowded(t *testing.T) {
	heard := newEars(t)
	p, log := newPulsed(t, 0)
	for {
		// One that does not wait for room.
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(fd)
		err = unix.Connect(fd, &unix.SockaddrUnix{Name: p.listener.Addr().String()})
		if errors.Is(err, syscall.EAGAIN) {
			break
		}
		if err == nil {
			err = unix.Shutdown(fd, unix.SHUT_WR)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	looked := make(chan struct{})
	go func() {
		defer close(looked)
		p.look(t.Context())
	}()
	for answered := false; !answered; {
		c, err := p.listener.Accept()
		if err != nil {
			t.Fatal(err)
		}
		// Those who fill the socket ask nothing.
		if r, err := http.ReadRequest(bufio.NewReader(c)); err == nil {
			answered = r.URL.Path == "/v1/healthz"
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
		}
		c.Close()
	}
	<-looked
	if told := heard.hear(p.server); len(told) != 2 || told[1] != "WATCHDOG=1" || log.Len() > 0 {
		t.Errorf("it tells %q, and the log says %q", told, log)
	}
}
