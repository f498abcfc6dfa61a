package tpm

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/google/go-tpm/tpm2"
)

// CounterConfig says which counter, and what is needed to define it.
type CounterConfig struct {
	// Device is the TPM that has the counter.
	Device *Device
	// Index is the NV index, FirstIndex to LastIndex; 0 is DefaultIndex.
	Index uint32
	// StateDir is the folder with index.auth and index.incarnation. It exists,
	// and one process uses it at a time.
	StateDir string
	// OwnerAuth is the authorization value of the owner hierarchy, empty if it
	// has none. Define and Undefine need it; Read and Next do not.
	OwnerAuth []byte
	// EK is how the endorsement key is made, which hides the authorization
	// values on the bus while the index is defined or undefined.
	EK EKOptions
}

// A Counter is opmint's NV counter in a TPM. It is of one incarnation, the one
// that it found when it first saw the index; only Define takes over another.
// Its methods may be called by several goroutines.
type Counter struct {
	device   *Device
	handle   tpm2.TPMHandle
	stateDir string
	owner    []byte
	ek       EKOptions

	// What follows belongs to the operation that has the device.

	auth   []byte            // of the index, once it was needed
	seen   *[secretSize]byte // the incarnation that Status saw last, which Undefine is for
	known  bool              // the index was read: pinned and last are valid
	pinned [secretSize]byte  // the incarnation
	last   uint64            // the highest value read of it
	// fresh: last was read after everything this Counter has done.
	fresh bool
	// shared is how many claims are still to begin with a read, since somebody
	// else increments the counter too.
	shared int
	// drawn is the incarnation that the last Define drew, if it drew one.
	drawn [secretSize]byte
	// changed is what Changed reports.
	changed atomic.Bool
	back    error // the *WentBackError, once the counter went back
}

// NewCounter checks the configuration. It does not use the TPM yet.
func NewCounter(cfg CounterConfig) (*Counter, error) {
	if cfg.Index == 0 {
		cfg.Index = DefaultIndex
	}
	if cfg.Index < FirstIndex || cfg.Index > LastIndex {
		return nil, fmt.Errorf("NV index 0x%08x is not in the owner's range, 0x%08x to 0x%08x",
			cfg.Index, FirstIndex, LastIndex)
	}
	return &Counter{
		device: cfg.Device, handle: tpm2.TPMHandle(cfg.Index), stateDir: cfg.StateDir, owner: cfg.OwnerAuth, ek: cfg.EK,
	}, nil
}

// Read returns the counter's value, in an HMAC session: nobody between this
// process and the TPM can forge it.
func (c *Counter) Read(ctx context.Context) (uint64, error) {
	var value uint64
	err := c.device.operate(ctx, shortLimit, func(l *link) error {
		idx, err := c.attach(l)
		if err != nil {
			return err
		}
		err = c.readOnly(l, idx)
		value = c.last
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("read counter 0x%08x: %w", uint32(c.handle), err)
	}
	return value, nil
}

// Incarnation returns the 32 bytes that were drawn when the index was defined
// and that are gone for good when it is deleted, proven in an HMAC session.
func (c *Counter) Incarnation(ctx context.Context) ([32]byte, error) {
	var incarnation [secretSize]byte
	err := c.device.operate(ctx, shortLimit, func(l *link) error {
		idx, err := c.attach(l)
		if err == nil && !c.known {
			err = c.readOnly(l, idx)
		}
		incarnation = c.pinned
		return err
	})
	if err != nil {
		return [secretSize]byte{}, fmt.Errorf("incarnation of counter 0x%08x: %w", uint32(c.handle), err)
	}
	return incarnation, nil
}

// First returns the value with which the counter began when it was defined from
// this state folder, and 0 if that is not known.
func (c *Counter) First(ctx context.Context) (uint64, error) {
	incarnation, err := c.Incarnation(ctx)
	if err != nil {
		return 0, err
	}
	first, err := readFirst(c.stateDir, incarnation)
	if err != nil {
		return 0, fmt.Errorf("first value of counter 0x%08x: %w", uint32(c.handle), err)
	}
	return first, nil
}

// attach finds the index and makes sure that it is the one this Counter knows.
func (c *Counter) attach(l *link) (*index, error) {
	if c.back != nil {
		return nil, c.back
	}
	idx, err := findIndex(l, c.handle)
	switch {
	case err != nil:
		return nil, err
	case idx == nil:
		return nil, fmt.Errorf("%w: nothing stands at its handle", ErrNotDefined)
	case c.known && idx.incarnation != c.pinned:
		return nil, fmt.Errorf("%w: its incarnation is another one; a new start takes it over", ErrRedefined)
	case c.known && !idx.written:
		return nil, fmt.Errorf("%w: a counter that was never incremented stands in its place", ErrStranger)
	case !idx.written:
		return nil, fmt.Errorf("%w: it was never incremented", ErrNotDefined)
	}
	if c.auth == nil {
		c.auth, err = readAuth(c.stateDir)
	}
	return idx, err
}

// readOnly reads the counter in a session of its own.
func (c *Counter) readOnly(l *link, idx *index) error {
	s, err := startSession(l, c.auth, nil)
	if err != nil {
		return err
	}
	defer s.close(l)
	s.endsWithNext()
	return c.read(l, idx, s)
}

// read reads the counter and takes note of its value.
func (c *Counter) read(l *link, idx *index, s *session) error {
	value, err := idx.read(l, s)
	if err != nil {
		return err
	}
	return c.note(idx, value)
}

// note takes over a value that was just read. A value below an earlier one
// makes this Counter useless for good: it could hand out numbers again.
func (c *Counter) note(idx *index, value uint64) error {
	if c.known && value < c.last {
		c.back = &WentBackError{Index: uint32(c.handle), Before: c.last, Seen: value}
		return c.back
	}
	// Without fresh, the increment may have been ours.
	if c.fresh && value > c.last {
		c.shared = sharedFor
	}
	c.known, c.pinned, c.last, c.fresh = true, idx.incarnation, value, true
	return nil
}
