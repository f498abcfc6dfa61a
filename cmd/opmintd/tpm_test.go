package main

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-tpm/tpm2"
	"github.com/google/go-tpm/tpm2/transport"
)

// A bus stands between daemons and the TPM.
type bus struct {
	tpm  string // the path of the TPM's socket
	addr string // what --tpm is told

	mu   sync.Mutex
	hook hook
}

// A hook sees each command. It calls next to have the TPM execute it, and returns
// the answer; nil breaks the connection.
type hook func(cc tpm2.TPMCC, next func() []byte) []byte

// newBus returns a bus on the TPM of r, which r's daemons use from then on.
func newBus(r *rig) *bus {
	r.t.Helper()
	path := filepath.Join(r.t.TempDir(), "bus")
	l, err := net.Listen("unix", path)
	if err != nil {
		r.t.Fatal(err)
	}
	b := &bus{tpm: strings.TrimPrefix(r.tpm.Addr(), "unix:"), addr: "unix:" + path}
	r.addr = b.addr
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			b.carry(c)
			c.Close()
		}
	}()
	r.t.Cleanup(func() {
		l.Close()
		<-ended
	})
	return b
}

// meddle sets the hook; nil takes it away.
func (b *bus) meddle(h hook) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.hook = h
}

// carry carries the commands of one connection.
func (b *bus) carry(from io.ReadWriter) {
	to, err := net.Dial("unix", b.tpm)
	if err != nil {
		return
	}
	defer to.Close()
	for {
		cmd, err := readMessage(from)
		if err != nil {
			return
		}
		next := func() []byte {
			if _, err := to.Write(cmd); err != nil {
				return nil
			}
			rsp, _ := readMessage(to)
			return rsp
		}
		b.mu.Lock()
		h := b.hook
		b.mu.Unlock()
		rsp := []byte(nil)
		if h == nil {
			rsp = next()
		} else {
			rsp = h(tpm2.TPMCC(binary.BigEndian.Uint32(cmd[6:])), next)
		}
		if rsp == nil {
			return
		}
		if _, err := from.Write(rsp); err != nil {
			return
		}
	}
}

// readMessage reads a command or an answer.
func readMessage(r io.Reader) ([]byte, error) {
	head := make([]byte, 10)
	if _, err := io.ReadFull(r, head); err != nil {
		return nil, err
	}
	message := append(head, make([]byte, binary.BigEndian.Uint32(head[2:])-10)...)
	if _, err := io.ReadFull(r, message[10:]); err != nil {
		return nil, err
	}
	return message, nil
}

// ask has the TPM execute a command, on a connection of its own, which has to
// succeed.
func ask[R any, PR *R](r *rig, cmd tpm2.Command[R, PR]) PR {
	r.t.Helper()
	c, err := net.Dial("unix", strings.TrimPrefix(r.tpm.Addr(), "unix:"))
	if err != nil {
		r.t.Fatal(err)
	}
	defer c.Close()
	rsp, err := cmd.Execute(transport.FromReadWriter(c))
	if err != nil {
		r.t.Fatalf("%T: %v", cmd, err)
	}
	return rsp
}

// checkHandles fails the test if an object or a session is left in the TPM.
func (r *rig) checkHandles() {
	r.t.Helper()
	for _, kind := range []tpm2.TPMHT{
		tpm2.TPMHTTransient, tpm2.TPMHTHMACSession, tpm2.TPMHTPolicySession, tpm2.TPMHTPersistent,
	} {
		rsp := ask(r, tpm2.GetCapability{Capability: tpm2.TPMCapHandles, Property: uint32(kind) << 24, PropertyCount: 64})
		left, err := rsp.CapabilityData.Data.Handles()
		if err != nil {
			r.t.Fatal(err)
		}
		if len(left.Handle) > 0 {
			r.t.Errorf("left in the TPM: %x", left.Handle)
		}
	}
}

// TestNothingLeftInTPM looks after a start that defines, a renewal and an end.
func TestNothingLeftInTPM(t *testing.T) {
	r := newRig(t)
	for range 2 {
		p := r.start()
		r.checkHandles()
		p.identity()
		if _, err := p.client.Renew(t.Context()); err != nil {
			t.Fatal(err)
		}
		p.stop()
		r.checkHandles()
	}
}

// renewing has the client of a daemon ask for a renewal, and returns once the TPM has
// been sent the claim of that, which it answers when goOn is called.
func (b *bus) renewing(p *process) (goOn func(), renewed <-chan error) {
	claiming, answer := make(chan struct{}), make(chan struct{})
	b.meddle(func(cc tpm2.TPMCC, next func() []byte) []byte {
		if cc == tpm2.TPMCCNVIncrement {
			close(claiming)
			<-answer
		}
		return next()
	})
	done := make(chan error)
	go func() {
		_, err := p.client.Renew(context.Background())
		done <- err
	}()
	<-claiming
	return func() { close(answer) }, done
}
