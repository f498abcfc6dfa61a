package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/opmint/opmint/api"
)

// addSocketFlag declares the flag of all commands that ask the daemon.
func addSocketFlag(cmd *cobra.Command, client *api.Client) {
	cmd.Flags().Var((*socketPath)(&client.Socket), "socket",
		"`path` of the daemon's socket (default $"+api.SocketVariable+", else opmintd's own)")
}

// socketPath is a flag's value: the path of a socket. An empty one comes from a
// variable that is not set, and must not be taken for the default.
type socketPath string

func (p *socketPath) String() string { return string(*p) }

func (p *socketPath) Type() string { return "path" }

func (p *socketPath) Set(text string) error {
	if err := api.CheckSocket(text); err != nil {
		return err
	}
	*p = socketPath(text)
	return nil
}

// daemonProblem adds to an error of the daemon's what a user of the command line
// can do about it.
func daemonProblem(err error) error {
	if errors.Is(err, api.ErrNoDaemon) {
		return fmt.Errorf("%w; `opmint doctor` says why, and what to type", err)
	}
	return err
}
