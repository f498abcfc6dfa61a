package main

import (
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// A manager does for a daemon what systemd does: it has the socket, hears how the
// daemon is, and starts it.
type manager struct {
	t      *testing.T
	state  string
	path   string // of the socket
	socket *os.File
	notify string      // where the daemon tells how it is
	told   chan string // what it has told, with room for more than any test waits for
}

func newManager(t *testing.T) *manager {
	t.Helper()
	dir := t.TempDir()
	m := &manager{
		t: t, state: filepath.Join(dir, "state"), path: filepath.Join(dir, "sock"), notify: filepath.Join(dir, "notify"),
		told: make(chan string, 1<<16),
	}
	m.socket = m.listen(m.path)
	notify, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: m.notify, Net: "unixgram"})
	must(t, err)
	ended := make(chan struct{})
	go m.hear(notify, ended)
	t.Cleanup(func() {
		notify.Close()
		<-ended
	})
	return m
}

// listen makes a socket that nobody accepts from, until the end of the test.
func (m *manager) listen(path string) *os.File {
	m.t.Helper()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	must(m.t, err)
	return m.file(l)
}

// file is a descriptor for what a daemon can be passed.
func (m *manager) file(c interface {
	File() (*os.File, error)
	Close() error
}) *os.File {
	m.t.Helper()
	if l, ok := c.(*net.UnixListener); ok {
		l.SetUnlinkOnClose(false)
	}
	f, err := c.File()
	must(m.t, err)
	must(m.t, c.Close())
	m.t.Cleanup(func() { f.Close() })
	return f
}

// launch launches a daemon that is passed files. FOR=PID among the variables says that
// they are for another process.
func (m *manager) launch(files []*os.File, variables []string, args ...string) *process {
	m.t.Helper()
	args = append([]string{"opmintd", "--tpm", "none", "--state", m.state}, args...)
	// The shell becomes the daemon, and so has its pid.
	p := newProgram(m.t, "sh", append([]string{"-c", `LISTEN_PID=${FOR-$$} exec "$0" "$@"`}, args...)...)
	p.cmd.ExtraFiles = files
	p.cmd.Env = append(p.cmd.Env, "LISTEN_FDS="+strconv.Itoa(len(files)), "NOTIFY_SOCKET="+m.notify)
	p.cmd.Env = append(p.cmd.Env, variables...)
	p.launch()
	p.client.Socket = m.path
	return p
}

// start starts a daemon with the socket, and returns when it mints.
func (m *manager) start(variables ...string) *process {
	m.t.Helper()
	p := m.launch([]*os.File{m.socket}, variables)
	m.hears("READY=1")
	return p
}

// hears waits until the daemon tells something that begins like this, after what was
// heard before.
func (m *manager) hears(state string) {
	m.t.Helper()
	for {
		told, ok := <-m.told
		if !ok {
			m.t.Fatalf("the daemon tells nothing that begins with %q", state)
		}
		if strings.HasPrefix(told, state) {
			return
		}
	}
}

// hear takes down what daemons tell, which they must never have to wait for.
func (m *manager) hear(notify *net.UnixConn, ended chan<- struct{}) {
	defer close(ended)
	defer close(m.told)
	buf := make([]byte, 4096)
	for {
		n, err := notify.Read(buf)
		if err != nil {
			return
		}
		m.told <- string(buf[:n])
	}
}
