package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/opmint/opmint/api"
)

const (
	// helloTime is how long a daemon may take to say that it is there, for which it
	// needs nothing.
	helloTime = 10 * time.Second
	// answerTime is how long it may take for what it asks of the TPM.
	answerTime = 40 * time.Second
)

// socketFacts is what is seen of the daemon's socket.
type socketFacts struct {
	path    string
	err     error // why there is no node
	node    *node
	dialErr error  // why nobody could be reached
	listens bool   // a daemon does; the one that systemd would start was not woken
	pid     int    // of the daemon; 0 if not known
	command string // the daemon's command line; empty if not known
	group   string // "opmint", if this machine has that group
}

// opmintGroup is whose members may use the socket.
const opmintGroup = "opmint"

// lookAtSocket knocks at the socket, unless that would start a daemon.
func lookAtSocket(client *api.Client, u *unitFacts, me int) socketFacts {
	s := socketFacts{path: cmp.Or(client.Socket, api.ClientSocket())}
	if _, err := user.LookupGroup(opmintGroup); err == nil {
		s.group = opmintGroup
	}
	if s.node, s.err = lookAtNode(s.path); s.err != nil || s.node.mode.Type() != fs.ModeSocket || u.sleeps() {
		return s
	}
	conn, err := net.Dial("unix", s.path)
	if s.dialErr = err; err != nil {
		return s
	}
	defer conn.Close()
	s.listens = true
	var uid int
	if s.pid, uid = listener(conn.(*net.UnixConn)); s.pid > 0 && (uid == 0 || uid == me) {
		s.command = commandLine(s.pid)
	}
	return s
}

// commandLine returns how a daemon was started, for a shell; empty if that is not to be
// seen, or it is no opmintd: what anybody calls a process is nothing to be typed.
func commandLine(pid int) string {
	args, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return ""
	}
	words := strings.Split(strings.TrimSuffix(string(args), "\x00"), "\x00")
	if filepath.Base(words[0]) != "opmintd" {
		return ""
	}
	for i, word := range words {
		words[i] = quote(word)
	}
	return strings.Join(words, " ")
}

// daemonFacts is what the daemon says.
type daemonFacts struct {
	health      *api.Health
	silence     error // why it did not say who it is
	identity    *api.Identity
	identityErr error
	ready       *api.Readiness
	readyErr    error
}

func (d *daemonFacts) answers() bool { return d.health != nil }

// askDaemon asks the daemon, which is not made to claim anything.
func askDaemon(ctx context.Context, client *api.Client) daemonFacts {
	var d daemonFacts
	hello, cancel := context.WithTimeout(ctx, helloTime)
	defer cancel()
	if d.health, d.silence = client.Health(hello); d.silence != nil {
		return d
	}
	ctx, cancel = context.WithTimeout(ctx, answerTime)
	defer cancel()
	answer := askReady(ctx, client)
	d.identity, d.identityErr = client.Identity(ctx)
	d.ready, d.readyErr = answer()
	return d
}

// checkSocket judges whether somebody listens.
func checkSocket(f *facts) finding {
	s := &f.socket
	switch {
	case errors.Is(s.err, fs.ErrNotExist):
		return failure(f.start(), "%s is not there: no daemon runs, or it listens elsewhere (say --socket)", s.path)
	case errors.Is(s.err, fs.ErrPermission):
		return notChecked("%s: a folder above it is closed to you", s.path)
	case s.err != nil:
		return notChecked("%v", s.err)
	case s.node.mode.Type() != fs.ModeSocket:
		return failure(fmt.Sprintf("mv %s %[1]s.aside && %s", quote(s.path), f.start()),
			"%s is no socket: move it away", s.path)
	case f.unit.sleeps():
		return good("%s: systemd listens there, and starts the daemon with the first request", s.path)
	case errors.Is(s.dialErr, fs.ErrPermission):
		return notChecked("%s is closed to you: see group", s.path)
	case errors.Is(s.dialErr, syscall.ECONNREFUSED):
		return failure(f.start(), "%s is dead: the daemon that made it has ended; the next one replaces it", s.path)
	case s.dialErr != nil:
		return notChecked("%v", s.dialErr)
	}
	return good("%s: somebody listens there", s.path)
}

// checkGroup judges who may use the socket.
func checkGroup(f *facts) finding {
	s := &f.socket
	if s.node == nil || s.node.mode.Type() != fs.ModeSocket {
		return f.groupAlone()
	}
	chmod := fmt.Sprintf("%schmod 660 %s", f.asOwnerOf(s.node), quote(s.path))
	switch {
	case s.node.mode.Perm()&0o006 != 0:
		return failure(chmod, "%v: every user of the machine can take names", s.node)
	case errors.Is(s.dialErr, fs.ErrPermission) && s.node.mode.Perm()&0o020 != 0:
		return failure(f.admit(&f.me, s.node),
			"you are %v, and %v: join its group, which counts from the next login on", &f.me, s.node)
	case errors.Is(s.dialErr, fs.ErrPermission):
		return notChecked("%v: it is for its owner and root only", s.node)
	case s.group != "" && s.node.owner.uid == 0 && s.node.group != s.group:
		return warning(fmt.Sprintf("%schgrp %s %s && %s", f.asRoot(), s.group, quote(s.path), chmod),
			"%v: members of the group %s cannot use it", s.node, s.group)
	case s.group == "" && s.node.owner.uid == 0:
		return good("%v; there is no group %s whose members could use it", s.node, opmintGroup)
	}
	return good("%v", s.node)
}

// groupAlone judges the group where there is no socket yet.
func (f *facts) groupAlone() finding {
	if f.socket.group != "" {
		return good("the group %s is there; its members may use the socket", opmintGroup)
	}
	return good("no group %s: the socket is for its owner and root only", opmintGroup)
}

// asOwnerOf is what stands before a command that is a file's owner's.
func (f *facts) asOwnerOf(n *node) string {
	if n.owner.uid == f.me.uid {
		return ""
	}
	return f.asRoot()
}

// checkDaemon judges whether the daemon can mint.
func checkDaemon(f *facts) finding {
	d := &f.daemon
	switch {
	case !f.socket.listens:
		return notChecked("no daemon to ask: see socket")
	case errors.Is(d.silence, context.DeadlineExceeded):
		return failure(f.restart("KILL"),
			"it says nothing for %v: end it, which repeats no name, and start it again", helloTime)
	case d.silence != nil:
		return failure(f.elsewhere("socket", "PATH"),
			"what listens at the socket is no opmintd (%v): choose another place, here too", d.silence)
	case errors.Is(d.readyErr, api.ErrUnavailable):
		return failure(f.restart("TERM"), "it cannot mint (%v): when the lines above are right, start it anew", d.readyErr)
	case d.readyErr != nil:
		return notChecked("it does not say whether it can mint: %v", d.readyErr)
	case d.ready.Warning != "":
		return warning("opmint doctor"+f.typed.daemon,
			"%s; it goes by itself when the lines above are right", d.ready.Warning)
	}
	return good("it can mint, and claim another epoch")
}

// checkVersion judges whether daemon and client are of one version.
func checkVersion(f *facts) finding {
	mine, d := api.ThisBuild(), &f.daemon
	switch {
	case !d.answers():
		return notChecked("this is opmint %s; no daemon to ask", mine.Version)
	case d.health.API != mine.APILevel || d.health.Version != mine.Version:
		return warning(f.restart("TERM"), "the daemon is opmintd %s with API level %d, this is opmint %s with %d: "+
			"after an upgrade it has to be started anew", d.health.Version, d.health.API, mine.Version, mine.APILevel)
	}
	return good("opmintd and opmint are both %s, with API level %d", mine.Version, mine.APILevel)
}
