package server

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"syscall"
	"time"

	sd "github.com/coreos/go-systemd/v22/daemon"
)

const (
	// pulseTime is how often a Server looks after itself where nobody says how
	// often. Under a watchdog it is a quarter of the watchdog's time, so that one
	// answer that comes late does no harm.
	pulseTime     = 15 * time.Second
	pulsesPerBite = 4

	// busyTime is how long to wait before connecting again to a socket with so many
	// who wait already that there is no room for more.
	busyTime = 20 * time.Millisecond
)

// A pulse looks from time to time whether clients can reach a Server, and under a
// watchdog, whether it answers them too. It tells the service manager.
type pulse struct {
	server   *Server
	listener *Listener
	fail     context.CancelCauseFunc // ends the Server
	interval time.Duration
	watched  bool   // there is a watchdog
	lost     bool   // it is in the log already that the socket is lost
	status   string // what the service manager was told last
}

func newPulse(s *Server, l *Listener, fail context.CancelCauseFunc) *pulse {
	p := &pulse{server: s, listener: l, fail: fail, interval: pulseTime}
	bite, err := sd.SdWatchdogEnabled(true)
	if err != nil {
		s.Log.Warn("no watchdog: it cannot be told how often it wants to hear", "error", err)
	}
	if bite > 0 {
		p.interval, p.watched = bite/pulsesPerBite, true
	}
	return p
}

// begin tells that names can be minted.
func (p *pulse) begin() {
	p.server.notify(sd.SdNotifyReady)
	p.tell()
}

// beat looks until ctx is done.
func (p *pulse) beat(ctx context.Context) {
	beats := time.NewTicker(p.interval)
	defer beats.Stop()
	for {
		select {
		case <-beats.C:
			p.look(ctx)
		case <-ctx.Done():
			return
		}
	}
}

// look looks once.
func (p *pulse) look(ctx context.Context) {
	lost := p.listener.lost()
	if lost != nil && !p.listener.Activated {
		p.fail(lost)
		return
	}
	if lost != nil && !p.lost {
		p.server.Log.Error("no client can connect until systemd has made the socket anew: "+
			"systemctl restart opmintd.socket (a user's: systemctl --user)", "error", lost)
	}
	p.lost = lost != nil
	if !p.watched {
		return
	}
	if !p.lost && p.listener.made != nil {
		if err := p.ask(ctx); err != nil {
			if ctx.Err() == nil {
				p.server.Log.Error("the daemon does not answer itself; if that lasts, the watchdog ends it", "error", err)
			}
			return
		}
	}
	p.tell()
	p.server.notify(sd.SdNotifyWatchdog)
}

// tell tells what is minted, if that has changed.
func (p *pulse) tell() {
	status := "cannot mint: "
	identity, epoch, err := p.server.Minter.Epoch()
	if err != nil {
		status += err.Error()
	} else {
		status = fmt.Sprintf("mints names of class %s, identity %s, epoch %d", p.server.Minter.Class(), identity, epoch)
	}
	if p.lost {
		status = "its socket was removed: systemctl restart opmintd.socket; " + status
	}
	if status != p.status {
		p.server.notify("STATUS=" + status)
		p.status = status
	}
}

// ask asks the Server for its health, as a client does that has not connected before.
// Any answer will do: that it has no room for another client is one.
func (p *pulse) ask(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, p.interval)
	defer cancel()
	c, err := p.dial(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { c.Close() })()
	if _, err := io.WriteString(c, "GET /v1/healthz HTTP/1.1\r\nHost: opmint\r\nConnection: close\r\n\r\n"); err != nil {
		return err
	}
	answer, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, answer.Body)
	return errors.Join(err, answer.Body.Close())
}

// dial connects to the socket. While others fill it, the daemon is busy and not stuck:
// there is room again when it has let some of them in.
func (p *pulse) dial(ctx context.Context) (net.Conn, error) {
	var dialer net.Dialer
	for {
		c, err := dialer.DialContext(ctx, "unix", p.listener.Addr().String())
		if !errors.Is(err, syscall.EAGAIN) {
			return c, err
		}
		select {
		case <-time.After(busyTime):
		case <-ctx.Done():
			return nil, err
		}
	}
}

// notify tells the service manager, if there is one.
func (s *Server) notify(state string) {
	if _, err := sd.SdNotify(false, state); err != nil {
		s.Log.Warn("the service manager cannot be told", "state", state, "error", err)
	}
}
