package server

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"time"

	sd "github.com/coreos/go-systemd/v22/daemon"
)

// Serve answers requests on l until ctx is done, then finishes those under way,
// for 5 seconds at most, and returns nil. It closes l. It ends with an error, in the
// same way, when clients do not find l any more, unless l is systemd's.
//
// The service manager that started the process, if one did (sd_notify(3)), is told
// that it is ready, what it does, and, as long as the Server answers itself, that it
// is alive.
func (s *Server) Serve(ctx context.Context, l *Listener) error {
	ctx, fail := context.WithCancelCause(ctx)
	p := newPulse(s, l, fail)
	p.begin()
	beating := make(chan struct{})
	go func() {
		defer close(beating)
		p.beat(ctx)
	}()
	err := s.serveAt(ctx, s.newDoor(l, callerOf))
	fail(nil)
	<-beating
	if cause := context.Cause(ctx); err == nil && errors.Is(cause, errLost) {
		err = cause
	}
	return err
}

func (s *Server) serveAt(ctx context.Context, d *door) error {
	defer s.lines.close()
	defer d.away.Wait()
	h := http.Server{
		Handler:           s,
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ConnContext:       withCaller,
		ErrorLog:          log.New(s.lines, "", 0),
		ReadHeaderTimeout: headerTime,
		ReadTimeout:       requestTime,
		WriteTimeout:      writeTime,
		IdleTimeout:       idleTime,
		MaxHeaderBytes:    maxHeader,

		DisableGeneralOptionsHandler: true,
	}
	stop := context.AfterFunc(ctx, func() {
		s.notify(sd.SdNotifyStopping)
		_ = d.Close() // the listener may say that it is closed already
	})
	if err := h.Serve(d); stop() {
		return fmt.Errorf("serve %s: %w", d.Addr(), err)
	}
	s.finish(&h)
	return nil
}

// finish waits for the requests under way, and ends all connections. Those that were
// let in before the listener was closed are asked for one request each, which has its
// answer. [http.Server.Shutdown] would drop requests that it reads from then on, and
// with them those of clients who ask once more since an earlier stop cut them off.
func (s *Server) finish(h *http.Server) {
	// Closes those that are idle, now or later.
	h.SetKeepAlivesEnabled(false)
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		s.inside.Wait()
	}()
	select {
	case <-gone:
	case <-time.After(stopTime):
		if _, _, cut := s.accounts.count(); cut > 0 {
			s.Log.Warn("requests cut off by the stop", "requests", cut, "after", stopTime)
		}
	}
	_ = h.Close() // has no listener any more that could fail to close
}
