package tpm

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// A Device is the address of a TPM, and the rule that this process sends it
// one command at a time. Each operation has a connection of its own, closed
// when the operation ends: nothing is kept in the TPM in between. Its methods
// may be called by several goroutines; they wait for each other.
type Device struct {
	addr string
	// managed: a resource manager cleans up behind each connection.
	managed bool
	// single: a socket, which serves one connection at a time.
	single  bool
	connect func(context.Context) (wire, error)
	observe func(command string, took time.Duration) // nil: nobody asked
	// turn has room for one: the operation that uses the TPM.
	turn chan struct{}
	// closed is closed by Close.
	closed chan struct{}
}

// errClosed is what a Device answers after Close.
var errClosed = errors.New("it was closed")

// Open checks an address and returns the TPM there:
//
//	auto              the machine's own TPM, as /dev/tpmrm0; ErrNoTPM if it has none
//	/dev/tpmrm0       the kernel's resource manager: what a machine should use
//	/dev/tpm0         the bare device, if nobody else uses it: what others left
//	                  in the TPM's memory is flushed
//	unix:PATH         a TPM that speaks plain TPM 2.0 commands on a Unix socket
//	tcp:HOST:PORT     the same over TCP; for tests, it is not encrypted
//
// A device file must exist (else the error is fs.ErrNotExist); what is no
// address is ErrAddress. Nothing is opened yet: what else is wrong with the TPM,
// the first operation tells.
func Open(addr string) (*Device, error) {
	if addr == Auto {
		path, err := find(os.DirFS("/"))
		if err != nil {
			return nil, fmt.Errorf("open TPM auto: %w", err)
		}
		addr = path
	}
	d := &Device{addr: addr, turn: make(chan struct{}, 1), closed: make(chan struct{})}
	network, target, _ := strings.Cut(addr, ":")
	switch {
	case strings.HasPrefix(addr, "/"):
		info, err := os.Stat(addr)
		if err != nil {
			return nil, cannotOpen(addr, err)
		}
		if info.Mode()&os.ModeCharDevice == 0 {
			return nil, fmt.Errorf("open TPM %s: not a device file; a socket is written unix:%s", addr, addr)
		}
		d.managed = strings.HasPrefix(filepath.Base(addr), "tpmrm")
		d.connect = func(context.Context) (wire, error) { return openCharDevice(addr) }
	case network == "unix" && target != "":
		d.single = true
		d.connect = func(ctx context.Context) (wire, error) { return dial(ctx, network, target) }
	case network == "tcp" && target != "":
		if _, _, err := net.SplitHostPort(target); err != nil {
			return nil, fmt.Errorf("open TPM %s: %w: %w", addr, ErrAddress, err)
		}
		d.single = true
		d.connect = func(ctx context.Context) (wire, error) { return dial(ctx, network, target) }
	default:
		return nil, fmt.Errorf("open TPM %q: %w: want auto, /dev/tpmrm0, unix:PATH or tcp:HOST:PORT", addr, ErrAddress)
	}
	return d, nil
}

// Observe has f told of each command that the TPM has executed, or may have: what
// TPM 2.0 Part 3 calls it, such as TPM2_NV_Increment, and how long the TPM took. It
// is called before the Device is used.
func (d *Device) Observe(f func(command string, took time.Duration)) { d.observe = f }

// String returns the address that d was opened with.
func (d *Device) String() string { return d.addr }

// Close makes all later operations fail, and those that wait for their turn. It
// waits for nothing: an operation that runs goes on to its end, which its
// context can hasten, and closes its connection itself. Close is called once.
func (d *Device) Close() error {
	close(d.closed)
	return nil
}

// operate runs f on a new connection, and once more on another one if an
// answer was lost: f looks at the index itself before it changes it. All
// of it is bounded by limit, except that a command that changes the TPM is
// waited for, once sent, for as long as answerLimit.
func (d *Device) operate(ctx context.Context, limit time.Duration, f func(*link) error) error {
	ctx, cancel := within(ctx, limit)
	defer cancel()
	err := d.once(ctx, f)
	if !isLost(err) || ctx.Err() != nil {
		return err
	}
	looked := false
	again := d.once(ctx, func(l *link) error {
		defer func() { looked = l.looked }()
		return f(l)
	})
	switch {
	case again == nil:
		return nil
	case isLost(again) || !looked:
		return fmt.Errorf("%w (TPM opened again after: %w)", again, err)
	}
	// The second time the TPM showed how things stand, so that nothing is left
	// unknown that was unknown before.
	return fmt.Errorf("%w (TPM opened again after: %v)", again, err)
}

// once runs f on a connection of its own.
func (d *Device) once(ctx context.Context, f func(*link) error) error {
	if ctx.Err() != nil {
		return cannotOpen(d.addr, context.Cause(ctx))
	}
	select {
	case d.turn <- struct{}{}:
	case <-d.closed:
		return cannotOpen(d.addr, errClosed)
	case <-ctx.Done():
		return fmt.Errorf("%w: %w %s: another operation has not ended: %w",
			ErrBusy, errUnreachable, d.addr, context.Cause(ctx))
	}
	var w wire
	var err error
	select {
	case <-d.closed:
		err = errClosed
	default:
		w, err = d.connect(ctx)
	}
	if err != nil {
		<-d.turn
		return cannotOpen(d.addr, err)
	}
	l := &link{ctx: ctx, wire: w, observe: d.observe, cleans: !d.managed, waits: d.single}
	defer d.finish(l)
	if l.cleans {
		if err := l.flushLeftovers(); err != nil {
			return err
		}
	}
	return f(l)
}

// finish closes the connection and lets the next operation in. If the system
// is still stuck in a command that was given up, that happens when it is not
// any more, so that no more than one goroutine ever hangs on a dead TPM.
func (d *Device) finish(l *link) {
	if l.pending == nil {
		l.wire.close()
		<-d.turn
		return
	}
	go func() {
		l.wire.close()
		<-l.pending
		<-d.turn
	}()
}
