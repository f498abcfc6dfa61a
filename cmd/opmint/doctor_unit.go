package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// The units of opmintd.
const (
	serviceUnit = "opmintd.service"
	socketUnit  = "opmintd.socket"
)

// systemdTime bounds the wait for systemd.
const systemdTime = 10 * time.Second

// unitFacts is what systemd says of opmintd's units.
type unitFacts struct {
	why             string // nothing is known of them; empty if it is
	user            bool   // they are of the user's own manager
	service, socket unit
	execStart       string // the service's command line
}

// unit is a unit's properties, as systemctl(1) shows them.
type unit map[string]string

func (u unit) installed() bool { return u["LoadState"] != "" && u["LoadState"] != "not-found" }

func (u unit) active() bool { return u["ActiveState"] == "active" }

func (f *unitFacts) installed() bool { return f.service.installed() }

// sleeps reports whether systemd holds the socket, and starts the daemon with the
// first connection.
func (f *unitFacts) sleeps() bool {
	return f.socket.active() && (f.service["ActiveState"] == "inactive" || f.service["ActiveState"] == "failed")
}

// shownProperties are what is asked of both units.
const shownProperties = "Id,LoadState,UnitFileState,ActiveState,SubState,Result,NRestarts,ExecMainStatus,ExecStart," +
	"User,Group,SupplementaryGroups,StateDirectory"

// askSystemd asks the machine's systemd, and that of a user who has no daemon there.
func askSystemd(ctx context.Context, uid int) unitFacts {
	system := showUnits(ctx)
	if system.installed() || uid == 0 {
		return system
	}
	own := showUnits(ctx, "--user")
	if own.user = own.installed(); own.user {
		return own
	}
	return system
}

func showUnits(ctx context.Context, manager ...string) unitFacts {
	ctx, cancel := context.WithTimeout(ctx, systemdTime)
	defer cancel()
	args := append(manager, "show", "--property="+shownProperties, serviceUnit, socketUnit)
	shown, err := exec.CommandContext(ctx, "systemctl", args...).Output()
	switch exit, _ := errors.AsType[*exec.ExitError](err); {
	case errors.Is(err, exec.ErrNotFound):
		return unitFacts{why: "no systemd here"}
	case ctx.Err() != nil:
		return unitFacts{why: "systemd does not answer"}
	case exit != nil && strings.Contains(string(exit.Stderr), "not been booted with systemd"):
		return unitFacts{why: "no systemd here"}
	case exit != nil:
		return unitFacts{why: "systemctl says: " + string(exit.Stderr)}
	case err != nil:
		return unitFacts{why: err.Error()}
	}
	return parseUnits(string(shown))
}

// parseUnits reads what systemctl shows: a line for each property, an empty one between
// units.
func parseUnits(shown string) unitFacts {
	var f unitFacts
	for block := range strings.SplitSeq(shown, "\n\n") {
		u := unit{}
		for line := range strings.Lines(block) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
			u[name] = value
		}
		switch u["Id"] {
		case serviceUnit:
			f.service = u
		case socketUnit:
			f.socket = u
		}
	}
	if f.service["LoadState"] == "" {
		f.why = "systemd says nothing of " + serviceUnit
	}
	// { path=/usr/bin/opmintd ; argv[]=/usr/bin/opmintd --flag ; ignore_errors=no ; … }
	_, argv, _ := strings.Cut(f.service["ExecStart"], " argv[]=")
	f.execStart, _, _ = strings.Cut(argv, " ;")
	return f
}

// told returns what the unit says for a flag of opmintd, empty if nothing.
func (f *unitFacts) told(flag string) string {
	words := strings.Fields(f.execStart)
	for i, word := range words {
		if value, found := strings.CutPrefix(word, "--"+flag+"="); found {
			return os.Expand(value, f.variable)
		}
		if word == "--"+flag && i+1 < len(words) {
			return os.Expand(words[i+1], f.variable)
		}
	}
	return ""
}

// variable returns what the system's systemd puts in the place of a variable in a
// command line (systemd.exec(5), StateDirectory=), or the variable itself where that is
// not known. The unit of users has no such folder.
func (f *unitFacts) variable(name string) string {
	folders := strings.Fields(f.service["StateDirectory"])
	if name != "STATE_DIRECTORY" || len(folders) == 0 || f.user {
		return "${" + name + "}"
	}
	for i, folder := range folders {
		folders[i] = filepath.Join("/var/lib", folder)
	}
	return strings.Join(folders, ":")
}

// runsAs returns the user that the service has, nil where that is who asks or where
// only root could judge it.
func (f *unitFacts) runsAs(uid int) *person {
	name := f.service["User"]
	if uid != 0 || f.user || name == "" {
		return nil
	}
	p, err := lookUpPerson(name, strings.Fields(f.service["Group"]+" "+f.service["SupplementaryGroups"])...)
	if err != nil || p.uid == 0 {
		return nil
	}
	return p
}

// dropIns is the folder that adds to the service.
func (f *unitFacts) dropIns() string {
	if f.user {
		config, err := os.UserConfigDir()
		if err == nil {
			return quote(filepath.Join(config, "systemd/user", serviceUnit+".d"))
		}
	}
	return "/etc/systemd/system/" + serviceUnit + ".d"
}

// exitReasons says what opmintd's exit codes mean.
var exitReasons = map[string]string{
	"1":  "an error",
	"2":  "flags that it does not know",
	"3":  "it refused to mint: an index, a journal or an authorization is not what it should be",
	"75": "another daemon is in its place, or the TPM was busy",
}

// failed says why a unit failed.
func (u unit) failed() string {
	switch u["Result"] {
	case "start-limit-hit":
		return "it was started too often within a short time, and systemd has given up, so that it does not wear out " +
			"the TPM"
	case "exit-code":
		if reason, known := exitReasons[u["ExecMainStatus"]]; known {
			return "it ended with code " + u["ExecMainStatus"] + ", " + reason
		}
		return "it ended with code " + u["ExecMainStatus"]
	case "watchdog":
		return "it did not move any more, and systemd has ended it"
	case "oom-kill":
		return "the machine had no memory left"
	case "signal", "core-dump":
		return "it was ended by signal " + u["ExecMainStatus"]
	}
	return "systemd says " + u["Result"]
}

// checkUnit judges the units. Their remedies are systemd's own commands.
func checkUnit(f *facts) finding {
	u := &f.unit
	ctl := f.systemctl()
	first := serviceUnit
	if u.socket.installed() {
		first = socketUnit
	}
	switch {
	case u.why != "":
		return notChecked("%s", u.why)
	case !u.installed() && f.daemon.answers():
		return good("%s is not installed; the daemon was started by hand", serviceUnit)
	case !u.installed():
		return warning(f.install(), "%s is not installed, so nobody starts the daemon with the machine", serviceUnit)
	case u.service["LoadState"] == "masked" || u.socket["LoadState"] == "masked":
		return failure(ctl+" unmask "+serviceUnit+" "+socketUnit+" && "+ctl+" enable --now "+first,
			"%s is masked: systemd may not start it", first)
	case u.service["ActiveState"] == "failed":
		return failure(ctl+" reset-failed "+serviceUnit+" "+socketUnit+" && "+f.start(),
			"%s failed: %s; its log: journalctl -u %[1]s", serviceUnit, u.service.failed())
	case u.socket["ActiveState"] == "failed":
		return failure(ctl+" reset-failed "+socketUnit+" && "+f.start(), "%s failed: %s", socketUnit, u.socket.failed())
	case !u.service.active() && !u.socket.active() && u.service["ActiveState"] != "activating":
		return failure(ctl+" enable --now "+first, "%s is installed and not started", first)
	case u.service["UnitFileState"] != "enabled" && u.socket["UnitFileState"] != "enabled":
		return warning(ctl+" enable "+first,
			"%s runs, and would not after the machine's next start: it is not enabled", first)
	case u.service["ActiveState"] == "activating":
		return warning("journalctl -n 20 -u "+serviceUnit,
			"%s is starting; so far %s restarts", serviceUnit, u.service["NRestarts"])
	case u.sleeps():
		return good("%s listens; the daemon starts with the first request", socketUnit)
	}
	return good("%s is active, with %s restarts since it was started", serviceUnit, u.service["NRestarts"])
}
