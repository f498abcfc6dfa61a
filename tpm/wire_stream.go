package tpm

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"time"
)

// stream is a connection on which plain TPM 2.0 commands and answers follow
// each other, as swtpm and the simulators speak.
type stream struct{ conn net.Conn }

// dial connects to a TPM on a socket. A software TPM serves one client at a
// time: a full queue (EAGAIN) is tried again for connectLimit, a TPM that may be
// just being restarted (refused) for restartLimit.
func dial(ctx context.Context, network, addr string) (wire, error) {
	ctx, cancel := context.WithTimeout(ctx, connectLimit)
	defer cancel()
	began := time.Now()
	var before error
	for pause := firstPause; ; pause = min(2*pause, longPause) {
		conn, err := new(net.Dialer).DialContext(ctx, network, addr)
		if err == nil {
			return stream{conn}, nil
		}
		if ctx.Err() != nil && before != nil {
			err = before // which says more than that the time is up
		}
		before = err
		full := errors.Is(err, syscall.EAGAIN)
		if !full && (!errors.Is(err, syscall.ECONNREFUSED) || time.Since(began) >= restartLimit) {
			return nil, err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			if full {
				err = fmt.Errorf("%w: other programs wait for it: %w", ErrBusy, err)
			}
			return nil, err
		}
	}
}

// readError explains that no whole answer came.
func readError(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) {
		return fmt.Errorf("read the answer: %w (did the software TPM end?)", err)
	}
	return fmt.Errorf("read the answer: %w", err)
}

func (s stream) exchange(cmd []byte, deadline time.Time) ([]byte, bool, error) {
	if err := s.conn.SetDeadline(deadline); err != nil {
		return nil, false, err
	}
	if n, err := s.conn.Write(cmd); err != nil {
		return nil, n > 0, err
	}
	rsp := make([]byte, headerSize, maxMessage)
	if _, err := io.ReadFull(s.conn, rsp); err != nil {
		return nil, true, readError(err)
	}
	size := binary.BigEndian.Uint32(rsp[2:])
	if size < headerSize || size > maxMessage {
		return nil, true, fmt.Errorf("answer that says it has %d bytes", size)
	}
	rsp = rsp[:size]
	if _, err := io.ReadFull(s.conn, rsp[headerSize:]); err != nil {
		return nil, true, readError(err)
	}
	return rsp, true, nil
}

func (s stream) close() { _ = s.conn.Close() }
