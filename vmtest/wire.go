package vmtest

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"sync"
	"syscall"
)

// A wire carries lines of JSON: one request at a time, each followed until its answer comes.
type wire struct {
	mu   sync.Mutex
	conn net.Conn
	in   *bufio.Reader
}

// newWire returns one end of a socket pair; the other is for a child process, and is the caller's to close. Both are
// connected from the start, so nothing has to be waited for and no path can be too long.
func newWire() (*wire, *os.File, error) {
	ours, theirs, err := socketPair()
	if err != nil {
		return nil, nil, err
	}
	defer ours.Close()
	conn, err := net.FileConn(ours)
	if err != nil {
		theirs.Close()
		return nil, nil, fmt.Errorf("open socket pair: %w", err)
	}
	return &wire{conn: conn, in: bufio.NewReader(conn)}, theirs, nil
}

// socketPair returns two connected Unix sockets.
func socketPair() (*os.File, *os.File, error) {
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("make socket pair: %w", err)
	}
	return os.NewFile(uintptr(fds[0]), "socketpair"), os.NewFile(uintptr(fds[1]), "socketpair"), nil
}

// exchange sends request, unless it is nil, and hands each line that comes to isAnswer until that returns true. When
// ctx ends first the wire is closed: whether the request was carried out is then unknown.
func (w *wire) exchange(ctx context.Context, request any, isAnswer func(line []byte) bool) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	defer context.AfterFunc(ctx, w.close)()
	if err := w.send(request); err != nil {
		return errOf(ctx, err)
	}
	for {
		line, err := w.in.ReadBytes('\n')
		if err != nil {
			return errOf(ctx, err)
		}
		if isAnswer(line) {
			return nil
		}
	}
}

// close ends the wire, if it ever began (nil if not). An exchange that is under way fails.
func (w *wire) close() {
	if w != nil {
		_ = w.conn.Close() // fails only where it was closed before
	}
}

func (w *wire) send(request any) error {
	if request == nil {
		return nil
	}
	line, err := json.Marshal(request)
	if err != nil {
		return err
	}
	_, err = w.conn.Write(append(line, '\n'))
	return err
}

// errOf tells a wire that ctx closed from one that broke.
func errOf(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}
