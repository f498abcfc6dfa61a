package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"

	"github.com/opmint/opmint/api"
	"github.com/opmint/opmint/api/server"
)

// listen returns the socket to serve: systemd's, else one of the daemon's own.
func (d *daemon) listen() (*server.Listener, error) {
	forWhom := os.Getenv("LISTEN_PID")
	told := cmp.Or(string(d.socket), os.Getenv(api.SocketVariable))
	l, err := server.Activated()
	if err != nil {
		return nil, err
	}
	if l != nil {
		if at := l.Addr().String(); told != "" && told != at {
			err := fmt.Errorf("systemd passed the socket %s, and the daemon is told to listen at %s: "+
				"set ListenStream= in opmintd.socket, and neither --socket nor %s", at, told, api.SocketVariable)
			return nil, errors.Join(&usageError{err}, l.Close())
		}
		return l, nil
	}
	if forWhom != "" {
		d.log.Warn("the sockets that systemd passed are for another process, and are left alone: "+
			"opmintd has to be what ExecStart= runs, or what it becomes (exec)", "listen_pid", forWhom, "pid", os.Getpid())
	}
	if told == "" {
		if told, err = api.DaemonSocket(); err != nil {
			return nil, err
		}
	}
	if l, err = server.Listen(told); err == nil && l.Replaced {
		d.log.Warn("the daemon before did not end in order, and left its socket: the rest of its epoch is lost, " +
			"and nothing else")
	}
	return l, err
}
