package server

import (
	"errors"
	"io"
	"net"
	"sync"
	"syscall"
	"time"

	"github.com/opmint/opmint/api"
)

// What a client that is turned away gets of the daemon.
const (
	askTime    = time.Second // to send its request
	askBytes   = 64 << 10    // of the request, that are read
	turnedAway = 32          // how many are waited for at a time
)

// door lets clients in, as far as there is room for them.
type door struct {
	net.Listener
	server   *Server
	callerOf func(socket) caller
	hearing  chan struct{}  // has room for turnedAway
	away     sync.WaitGroup // for those
}

func (s *Server) newDoor(l net.Listener, callerOf func(socket) caller) *door {
	return &door{Listener: l, server: s, callerOf: callerOf, hearing: make(chan struct{}, turnedAway)}
}

// Accept waits for the next connection for which there is room.
func (d *door) Accept() (net.Conn, error) {
	for {
		accepted, err := d.Listener.Accept()
		if err != nil {
			return nil, patient(err)
		}
		c := accepted.(socket)
		who := d.callerOf(c)
		if who.account, err = d.server.accounts.connect(who.uid); err == nil {
			return d.server.newConn(c, who), nil
		}
		d.turnAway(c, who, err)
	}
}

// turnAway answers a client for which there is no room, and costs little.
func (d *door) turnAway(c socket, who caller, err error) {
	p := api.NewProblem(err)
	d.server.noteRefusal(p, "uid", who.uid)
	answer := rawProblem(p)
	select {
	case d.hearing <- struct{}{}:
		d.away.Go(func() {
			defer func() { <-d.hearing }()
			hearOut(c, answer, d.server.grace.ask)
		})
	default:
		// What was asked already is answered at least. A socket that has sent nothing has
		// room for an answer, so nobody waits, unless there is something wrong. Less time
		// could be over before the answer is begun, where the daemon is put off the CPU.
		if c.SetDeadline(time.Now().Add(d.server.grace.ask)) == nil {
			_, _ = c.Write(answer)
		}
		c.Close()
	}
}

// hearOut answers a client and closes. It does so only when the client has asked,
// for which it has some time: many do not look at an answer that was there before.
func hearOut(c socket, answer []byte, within time.Duration) {
	defer c.Close()
	var beginning [512]byte
	if c.SetDeadline(time.Now().Add(within)) != nil {
		return
	}
	if _, err := c.Read(beginning[:]); err != nil {
		return
	}
	if _, err := c.Write(answer); err == nil && c.CloseWrite() == nil {
		// However this ends, the connection is over.
		_, _ = io.CopyN(io.Discard, c, askBytes)
	}
}

// patient returns an error of accept as one after which net/http tries again, in
// a while, if that can help. It knows of the descriptors only (EMFILE, ENFILE).
func patient(err error) error {
	if errors.Is(err, syscall.ENOBUFS) || errors.Is(err, syscall.ENOMEM) {
		return shortage{err}
	}
	return err
}

// shortage is an error that goes by. It is a [net.Error].
type shortage struct{ error }

// Unwrap returns what there was a shortage of.
func (s shortage) Unwrap() error { return s.error }

// Timeout reports false.
func (shortage) Timeout() bool { return false }

// Temporary reports true.
func (shortage) Temporary() bool { return true }
