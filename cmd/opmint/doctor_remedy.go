package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// typed holds what the operator or the unit said, as one types it: with a space before
// each flag.
type typed struct {
	daemon    string // for opmintd
	provision string // for opmint provision
}

// typedFlags keeps the flags that are set.
func typedFlags(cmd *cobra.Command) typed {
	var t typed
	for _, name := range []string{"tpm", "nv-index", "state", "socket"} {
		flag := cmd.Flag(name)
		if !flag.Changed {
			continue
		}
		text := fmt.Sprintf(" --%s %s", name, quote(flag.Value.String()))
		t.daemon += text
		if name != "socket" {
			t.provision += text
		}
	}
	return t
}

// quote writes an argument for a shell.
func quote(arg string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-"
	if arg != "" && strings.Trim(arg, plain) == "" {
		return arg
	}
	return "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
}

// asRoot is what stands before a command that is root's.
func (f *facts) asRoot() string {
	if f.me.uid == 0 {
		return ""
	}
	return "sudo "
}

// systemctl is how the unit's manager is told something.
func (f *facts) systemctl() string {
	if f.unit.user {
		return "systemctl --user"
	}
	return f.asRoot() + "systemctl"
}

// unitOwner is what stands before a command that changes the units' files.
func (f *facts) unitOwner() string {
	if f.unit.user {
		return ""
	}
	return f.asRoot()
}

// start starts the daemon.
func (f *facts) start() string {
	switch {
	case !f.unit.installed():
		return "opmintd" + f.typed.daemon
	case f.unit.socket.installed():
		return f.systemctl() + " start " + socketUnit + " " + serviceUnit
	}
	return f.systemctl() + " start " + serviceUnit
}

// restart ends the daemon with a signal and starts it again as it was started.
func (f *facts) restart(signal string) string {
	if f.unit.installed() {
		return f.systemctl() + " restart " + serviceUnit
	}
	if f.socket.pid == 0 {
		return f.start()
	}
	command := "opmintd" + f.typed.daemon
	if f.socket.command != "" {
		command = f.socket.command
	}
	return fmt.Sprintf("kill -%s %d && tail --pid=%[2]d -f /dev/null && %s", signal, f.socket.pid, command)
}

// provision makes the index, as whoever owns the state folder.
func (f *facts) provision(more string) string {
	command := "opmint provision" + f.typed.provision + more
	if f.tpm.answers() && f.tpm.opened.Properties.OwnerAuthSet {
		command += " --owner-auth-file -"
	}
	owner := f.state.owner
	if owner == nil || owner.uid == f.me.uid {
		return command
	}
	if !strings.Contains(command, " --state ") {
		command += " --state " + quote(f.state.dir)
	}
	if f.me.uid == 0 {
		as := "runuser -u " + quote(owner.name)
		// Those by which the unit lets its user use the TPM.
		if groups := strings.Fields(f.unit.service["SupplementaryGroups"]); len(groups) > 0 {
			as += " -g " + quote(f.state.node.group) + " -G " + strings.Join(groups, " -G ")
		}
		return as + " -- " + command
	}
	return "sudo -u " + quote(owner.name) + " " + command
}

// tpm2 is one of the tpm2-tools, on the TPM at hand.
func (f *facts) tpm2(command string) string {
	network, target, _ := strings.Cut(f.tpm.address, ":")
	connection := "device:" + f.tpm.address
	switch network {
	case "unix":
		connection = "cmd:socat - UNIX-CONNECT:" + target
	case "tcp":
		connection = "cmd:socat - TCP:" + target
	}
	return f.asRoot() + command + " -T " + quote(connection)
}

// install installs opmint, or a newer one.
func (f *facts) install() string {
	if f.packages == "" {
		return f.asRoot() + "make install"
	}
	return f.asRoot() + f.packages + " install opmint"
}

// elsewhere starts the daemon with another value of a flag.
func (f *facts) elsewhere(flag, value string) string {
	flag = " --" + flag + " " + value
	if !f.unit.installed() {
		return "opmintd" + f.typed.daemon + flag
	}
	// A systemd of Debian 12 has no `systemctl edit --stdin` yet.
	folder := f.unit.dropIns()
	return fmt.Sprintf("%[1]smkdir -p %[2]s && "+
		"printf '[Service]\\nExecStart=\\nExecStart=%%s\\n' %[3]s | %[1]stee %[2]s/flags.conf && "+
		"%[4]s daemon-reload && %[4]s restart %[5]s",
		f.unitOwner(), folder, quote(f.unit.execStart+flag), f.systemctl(), serviceUnit)
}
