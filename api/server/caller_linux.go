package server

import (
	"context"
	"errors"
	"fmt"
	"net"

	"golang.org/x/sys/unix"

	"github.com/opmint/opmint/api"
)

// unmapped is the uid that the kernel shows for a process of another user
// namespace whose user has no uid in ours: many users look like it.
const unmapped = 65534

// caller is who is at the other end of a connection, by the word of the kernel.
type caller struct {
	uid     uint32
	err     error    // why it is not known; then uid is unmapped
	account *account // of the uid
}

type callerKey struct{}

// withCaller puts who is calling into the context of a connection's requests.
func withCaller(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, callerKey{}, c.(*conn).caller)
}

// callerIn returns who makes a request with the given context. Nobody is root for
// lack of an answer.
func callerIn(ctx context.Context) caller {
	if c, ok := ctx.Value(callerKey{}).(caller); ok {
		return c
	}
	return caller{uid: unmapped, err: errors.New("the request did not come over the daemon's socket")}
}

// callerOf asks the kernel who was at the other end of c when it was connected
// (SO_PEERCRED in unix(7)).
func callerOf(c socket) caller {
	raw, err := c.(*net.UnixConn).SyscallConn()
	if err != nil {
		return caller{uid: unmapped, err: err}
	}
	var cred *unix.Ucred
	var sockErr error
	err = raw.Control(func(fd uintptr) {
		cred, sockErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	})
	if err == nil {
		err = sockErr
	}
	if err != nil {
		return caller{uid: unmapped, err: err}
	}
	return caller{uid: cred.Uid}
}

// check returns why the caller may make no request at all, or nil.
func (c caller) check() error {
	switch {
	case c.err != nil:
		return fmt.Errorf("%w: the kernel does not say who is calling: %w", api.ErrForbidden, c.err)
	case c.uid == unmapped:
		return fmt.Errorf("%w: you are uid %d, which stands for every user of another user namespace that has no uid here: "+
			"map the user into the daemon's namespace, or run a daemon in yours", api.ErrForbidden, unmapped)
	}
	return nil
}
