package main

import (
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/opmint/opmint/api"
)

// TestActivated: the first client is there before the daemon, and gets its name. The
// socket outlives the daemon, and the next one finds there who has come meanwhile.
func TestActivated(t *testing.T) {
	m := newManager(t)
	minted := newRecord(t)
	for range 2 {
		waiting := api.Client{Socket: m.path}
		got := make(chan error, 1)
		go func() {
			names, err := waiting.Mint(t.Context(), api.MintRequest{})
			if err == nil {
				parsed, _ := parse(names.Names)
				minted.add(parsed...)
			}
			got <- err
		}()
		p := m.start()
		must(t, <-got)
		m.hears("STATUS=mints names of class j")
		p.stop()
		m.hears("STOPPING=1")
		if _, err := os.Lstat(m.path); err != nil {
			t.Errorf("the socket after the stop: %v", err)
		}
	}
}

// TestActivatedOtherwise passes what a daemon cannot serve: each is an error, with
// what to do.
func TestActivatedOtherwise(t *testing.T) {
	m := newManager(t)
	dir := t.TempDir()
	unixgram, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(dir, "datagram"), Net: "unixgram"})
	must(t, err)
	seqpacket, err := net.ListenUnix("unixpacket", &net.UnixAddr{Name: filepath.Join(dir, "packet"), Net: "unixpacket"})
	must(t, err)
	tcp, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	must(t, err)
	connection, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: m.path, Net: "unix"})
	must(t, err)
	pipe, writing, err := os.Pipe()
	must(t, err)
	defer writing.Close()
	defer pipe.Close()
	for what, c := range map[string]struct {
		files []*os.File
		says  string
		args  []string
	}{
		"two sockets":       {[]*os.File{m.socket, m.listen(filepath.Join(dir, "second"))}, "passed 2 sockets, and the daemon serves one", nil},
		"datagrams":         {[]*os.File{m.file(unixgram)}, "it is no stream", nil},
		"packets":           {[]*os.File{m.file(seqpacket)}, "it is no stream", nil},
		"TCP":               {[]*os.File{m.file(tcp)}, "it is no Unix socket", nil},
		"a connection":      {[]*os.File{m.file(connection)}, "it does not listen", nil},
		"a pipe":            {[]*os.File{pipe}, "it is no socket", nil},
		"no path":           {[]*os.File{m.listen("@" + dir)}, "it is at no path", nil},
		"another than told": {[]*os.File{m.socket}, "told to listen at /elsewhere", []string{"--socket", "/elsewhere"}},
	} {
		p := m.launch(c.files, nil, c.args...)
		code := exitError
		if c.args != nil {
			code = exitUsage
		}
		p.refuses(code, c.says)
		if !t.Failed() && !p.logs("opmintd.socket") {
			t.Errorf("%s: it is not said what to do:\n%s", what, p.output())
		}
	}
	m.start().stop()
}

// TestActivatedForAnother: sockets that are another process's are left alone.
func TestActivatedForAnother(t *testing.T) {
	m := newManager(t)
	own := filepath.Join(t.TempDir(), "own")
	p := m.launch([]*os.File{m.socket}, []string{"FOR=1"}, "--socket", own)
	p.client.Socket = own
	m.hears("READY=1")
	if !p.logs("are for another process") {
		t.Errorf("nothing is said of it:\n%s", p.output())
	}
	p.mint(1)
	p.stop()
}

// TestActivatedSocketRemoved: what systemd has made it has to make again. Until then
// those who have a connection go on.
func TestActivatedSocketRemoved(t *testing.T) {
	m := newManager(t)
	p := m.start("WATCHDOG_USEC=400000")
	p.mint(1)
	must(t, os.Remove(m.path))
	if !p.logs("systemctl restart opmintd.socket") {
		t.Errorf("nothing is said of it:\n%s", p.output())
	}
	m.hears("STATUS=its socket was removed")
	m.hears("WATCHDOG=1")
	p.mint(1)
	p.stop()
}

// TestWatchdog: a daemon that mints feeds the watchdog.
func TestWatchdog(t *testing.T) {
	m := newManager(t)
	p := m.start("WATCHDOG_USEC=400000")
	for range 3 {
		m.hears("WATCHDOG=1")
	}
	p.stop()
	m.hears("STOPPING=1")
}
