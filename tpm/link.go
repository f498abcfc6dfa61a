package tpm

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/google/go-tpm/tpm2"
)

// How long things may take.
const (
	// connectLimit bounds the wait for a socket that another client has, and
	// restartLimit that for one at which nobody answers: the TPM may be just
	// being restarted.
	connectLimit = 10 * time.Second
	restartLimit = 2 * time.Second
	// answerLimit bounds the wait for one answer, keyLimit that for a new key:
	// RSA takes 3 s on a typical chip, and minutes on a bad day.
	answerLimit = time.Minute
	keyLimit    = 5 * time.Minute
	// busyLimit bounds the time for which a command is sent again because the
	// TPM says that it is busy.
	busyLimit = 30 * time.Second
	// shortLimit and longLimit bound an operation without and with a new key.
	shortLimit = 2 * time.Minute
	longLimit  = 6 * time.Minute

	firstPause = 5 * time.Millisecond
	longPause  = 500 * time.Millisecond
)

// maxMessage is the longest command or answer: the size of the kernel's buffer
// (TPM_BUFSIZE), more than any TPM has.
const maxMessage = 4096

// headerSize is the size of an answer with nothing in it: tag, size and code.
const headerSize = 10

// A wire carries commands to a TPM and its answers back.
type wire interface {
	// exchange sends a command and returns its answer, whole. It may block
	// until the deadline. sent is false only if the TPM cannot have got the
	// command.
	exchange(cmd []byte, deadline time.Time) (rsp []byte, sent bool, err error)
	// close ends the connection. If exchange is running, close makes it fail
	// or waits for its end.
	close()
}

// A link is a wire with manners: it resends what a busy TPM did not take, gives
// up in time, and passes on no answer that is not one. It is go-tpm's
// transport.TPM for the length of one operation, used by one goroutine.
type link struct {
	ctx  context.Context
	wire wire
	// observe is told of each command that was executed, or may have been; or nil.
	observe func(command string, took time.Duration)
	last    tpm2.TPMCC // the command sent last
	// resent: that command was sent more than once.
	resent bool
	// cleans: no resource manager removes what is left in the TPM's memory.
	cleans bool
	// waits: no answer came yet on a socket whose TPM may be serving another client.
	waits bool
	lost  error // why nothing can be sent any more
	// looked: the TPM has shown what stands at the index.
	looked bool
	// pending ends when an exchange does that was given up; else nil.
	pending chan reply
}

type reply struct {
	rsp  []byte
	sent bool
	err  error
}

// Send sends a command and returns the answer. Its errors are CommandErrors,
// or ErrBusy if the TPM did not take the command for too long.
func (l *link) Send(cmd []byte) ([]byte, error) {
	l.last = tpm2.TPMCC(binary.BigEndian.Uint32(cmd[6:]))
	l.resent = false
	giveUp := time.Now().Add(busyLimit)
	for pause := firstPause; ; pause = min(2*pause, longPause) {
		began := time.Now()
		rsp, err := l.exchange(cmd)
		if err != nil {
			if lost := (*CommandError)(nil); errors.As(err, &lost) && lost.Sent {
				l.executed(time.Since(began))
			}
			return nil, err
		}
		rc := tpm2.TPMRC(binary.BigEndian.Uint32(rsp[6:]))
		if !isBusy(rc) {
			l.executed(time.Since(began))
			return rsp, nil
		}
		if time.Now().Add(pause).After(giveUp) {
			return nil, fmt.Errorf("%w: %w for %v", ErrBusy, refused(l.last, rc), busyLimit)
		}
		l.resent = true
		select {
		case <-time.After(pause):
		case <-l.ctx.Done():
			return nil, fmt.Errorf("%w: %w until %w", ErrBusy, refused(l.last, rc), context.Cause(l.ctx))
		}
	}
}

// executed tells who asked that the command sent last was executed, or may have
// been.
func (l *link) executed(took time.Duration) {
	if l.observe != nil {
		l.observe(commands[l.last], took)
	}
}

// pause waits for d, or until nobody waits for the operation any more.
func (l *link) pause(d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-l.ctx.Done():
		return fmt.Errorf("%w: somebody else increments it, too: %w", ErrBusy, context.Cause(l.ctx))
	}
}

// within is context.WithTimeout with an error that says how long it was.
func within(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, limit, fmt.Errorf("%w after %v", context.DeadlineExceeded, limit))
}

// isBusy reports whether the TPM has not executed the command and asks for it
// to be sent again, unchanged (TPM 2.0 Part 2, 6.6.3).
func isBusy(rc tpm2.TPMRC) bool {
	return rc == tpm2.TPMRCRetry || rc == tpm2.TPMRCNVRate || rc == tpm2.TPMRCYielded || rc == tpm2.TPMRCTesting
}

// exchange carries one command, with a watchdog. Once anything went wrong, the
// connection is not used again: an answer could come late and be taken for
// that of the next command.
func (l *link) exchange(cmd []byte) ([]byte, error) {
	ctx, cancel := l.patience()
	defer cancel()
	if l.lost != nil {
		return nil, l.failed(false, l.lost)
	}
	if ctx.Err() != nil {
		return nil, l.failed(false, context.Cause(ctx))
	}
	deadline, _ := ctx.Deadline()
	done := make(chan reply, 1)
	go func() {
		rsp, sent, err := l.wire.exchange(cmd, deadline)
		done <- reply{rsp, sent, err}
	}()
	select {
	case r := <-done:
		if errors.Is(r.err, os.ErrDeadlineExceeded) {
			// The wire's deadline is that of ctx, which knows whose it is.
			<-ctx.Done()
			r.err = context.Cause(ctx)
		}
		if r.err == nil {
			r.err = checkAnswer(cmd, r.rsp)
		}
		if r.err != nil {
			return nil, l.broken(r.sent, r.err)
		}
		l.waits = false
		return r.rsp, nil
	case <-ctx.Done():
		l.pending = done
		return nil, l.broken(true, context.Cause(ctx))
	}
}

// broken notes that the connection is of no use any more, and makes the error. A
// socket that connects and is silent from the first command on has its one
// connection given to somebody else.
func (l *link) broken(sent bool, err error) error {
	l.lost = err
	if l.waits && errors.Is(err, context.DeadlineExceeded) && l.ctx.Err() == nil {
		return fmt.Errorf("%w: another program holds the connection to it: %w", ErrBusy, err)
	}
	return l.failed(sent, err)
}

// patience says how long the answer to the command sent last is waited for.
func (l *link) patience() (context.Context, context.CancelFunc) {
	ctx, limit := l.ctx, answerLimit
	switch {
	case l.waits:
		limit = connectLimit
	case l.last == tpm2.TPMCCCreatePrimary:
		limit = keyLimit
	case l.last == tpm2.TPMCCFlushContext:
		// We clean up behind us, also when nobody waits any more.
		ctx = context.WithoutCancel(ctx)
	case changes(l.last) && ctx.Err() == nil:
		// Once it is sent: else nobody would know what it did.
		ctx = context.WithoutCancel(ctx)
	}
	return within(ctx, limit)
}

// failed makes the error for the command sent last.
func (l *link) failed(sent bool, err error) error {
	return &CommandError{Command: commands[l.last], Sent: sent, Err: err, changes: changes(l.last)}
}

// tagTPM1 is the tag of an answer of TPM 1.2 (TPM_TAG_RSP_COMMAND).
const tagTPM1 = 0x00C4

// checkAnswer refuses what cannot be the answer to cmd.
func checkAnswer(cmd, rsp []byte) error {
	if len(rsp) < headerSize {
		return fmt.Errorf("answer of %d bytes, shorter than a header", len(rsp))
	}
	tag := binary.BigEndian.Uint16(rsp)
	if tag == tagTPM1 {
		return ErrTPM1
	}
	if size := binary.BigEndian.Uint32(rsp[2:]); int64(size) != int64(len(rsp)) || len(rsp) > maxMessage {
		return fmt.Errorf("answer of %d bytes that says it has %d", len(rsp), size)
	}
	want := uint16(tpm2.TPMSTNoSessions)
	if binary.BigEndian.Uint32(rsp[6:]) == uint32(tpm2.TPMRCSuccess) {
		want = binary.BigEndian.Uint16(cmd)
	}
	if tag != want {
		return fmt.Errorf("answer with tag 0x%04x, want 0x%04x", tag, want)
	}
	return nil
}

// run executes a command. An error code of the TPM comes back as such, wrapped;
// an answer that does not parse, or whose HMAC is wrong, as a CommandError.
func run[R any, PR *R](l *link, cmd tpm2.Command[R, PR], sessions ...tpm2.Session) (PR, error) {
	l.last = cmd.Command()
	rsp, err := cmd.Execute(l, sessions...)
	var rc tpm2.TPMRC
	var failed *CommandError
	switch {
	case err == nil:
		return rsp, nil
	case errors.As(err, &failed), errors.Is(err, ErrBusy):
		return nil, err
	case errors.As(err, &rc) && l.resent && isStale(rc):
		return nil, l.failed(true, fmt.Errorf("sent again, it was refused: %w", refused(l.last, rc)))
	case errors.As(err, &rc):
		return nil, refused(l.last, rc)
	}
	return nil, l.failed(true, err)
}
