package tpm

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/go-tpm/tpm2"
)

// State is what stands at the counter's index.
type State int

const (
	// Absent: nothing. Define makes the index.
	Absent State = iota
	// Unfinished: an index of ours that was never incremented, because a Define
	// broke off. Another Define goes on.
	Unfinished
	// Ready: an index of ours.
	Ready
	// AuthLost: an index of opmint's form that index.auth does not open.
	// Undefine and Define make a new one.
	AuthLost
	// Stranger: something else. It is left alone.
	Stranger
)

// String describes the state in a few words.
func (s State) String() string {
	switch s {
	case Absent:
		return "absent"
	case Unfinished:
		return "unfinished"
	case Ready:
		return "ready"
	case AuthLost:
		return "authorization lost"
	case Stranger:
		return "stranger"
	}
	return fmt.Sprintf("State(%d)", int(s))
}

// Status is what an operator wants to know before something is changed.
type Status struct {
	State       State    // what stands there
	Index       uint32   // the NV index that was looked at
	Incarnation [32]byte // where the index has opmint's form
	Value       uint64   // where it is Ready
	Problem     error    // what is wrong: ErrAuthLost or ErrStranger; else nil

	// First is the value with which a Ready counter began; 0 where it was not defined
	// from this state folder.
	First uint64
	// Defined is when that was, by the clock of then; zero likewise.
	Defined time.Time
}

// Status looks at the index and changes nothing, except that Undefine will delete
// the index that was seen or none. An error is that of the TPM, not of what stands at the index.
func (c *Counter) Status(ctx context.Context) (Status, error) {
	var status Status
	err := c.device.operate(ctx, shortLimit, func(l *link) error {
		var err error
		status, err = c.look(l)
		return err
	})
	if err != nil {
		return Status{}, fmt.Errorf("look at counter 0x%08x: %w", uint32(c.handle), err)
	}
	return status, nil
}

func (c *Counter) look(l *link) (Status, error) {
	c.seen = nil
	status := Status{Index: uint32(c.handle)}
	idx, err := findIndex(l, c.handle)
	if errors.Is(err, ErrStranger) {
		status.State, status.Problem = Stranger, err
		return status, nil
	}
	if err != nil || idx == nil {
		return status, err
	}
	status.Incarnation, c.seen = idx.incarnation, &idx.incarnation
	status.Value, err = c.peek(l, idx)
	switch {
	case err == nil:
		status.State = Ready
		// Without these, wear is not known, and nothing else.
		status.First, status.Defined, _ = readBeginning(c.stateDir, idx.incarnation)
	case errors.Is(err, tpm2.TPMRCNVUninitialized):
		status.State = Unfinished
	case errors.Is(err, ErrAuthLost):
		status.State, status.Problem = AuthLost, err
	default:
		return Status{}, err
	}
	return status, nil
}

// peek reads the counter with what index.auth holds now.
func (c *Counter) peek(l *link, idx *index) (uint64, error) {
	auth, err := readAuth(c.stateDir)
	if err != nil {
		return 0, err
	}
	s, err := startSession(l, auth, nil)
	if err != nil {
		return 0, err
	}
	defer s.close(l)
	s.endsWithNext()
	return idx.read(l, s)
}
