package main

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/opmint/opmint/api"
	"github.com/opmint/opmint/keygen"
	"github.com/opmint/opmint/store"
	"github.com/opmint/opmint/tpm"
	"github.com/opmint/opmint/vtpmdetect"
)

// content are the facts of a machine on which all is well: a daemon of class h that
// systemd has started, and root who asks.
func content() *facts {
	now := time.Date(2026, 7, 1, 0, 0, 0, 0, time.UTC)
	f := &facts{me: person{name: "root", groups: []string{"root"}}, packages: "apt-get"}
	f.unit = parseUnits(`Id=opmintd.service
LoadState=loaded
UnitFileState=disabled
ActiveState=active
NRestarts=0
ExecStart={ path=/usr/bin/opmintd ; argv[]=/usr/bin/opmintd --state=/srv/opmint --nv-index 0x01901d05 ; ignore_errors=no }

Id=opmintd.socket
LoadState=loaded
UnitFileState=enabled
ActiveState=active
`)
	f.socket = socketFacts{path: "/run/opmint/opmint.sock", listens: true, pid: 4711, group: "opmint", node: &node{
		path: "/run/opmint/opmint.sock", mode: fs.ModeSocket | 0o660, group: "opmint", owner: person{name: "root"},
	}}
	f.daemon = daemonFacts{
		health: &api.Health{Version: api.ThisBuild().Version, API: api.Level}, ready: &api.Readiness{Ready: true},
		identity: &api.Identity{Class: keygen.ClassH, FreshRandomness: true,
			Verdict: vtpmdetect.Verdict{Class: vtpmdetect.ClassH}},
	}
	f.tpm = tpmFacts{
		address: "/dev/tpmrm0", nvIndex: tpm.DefaultIndex,
		node: &node{path: "/dev/tpmrm0", mode: 0o660, group: "tss", gid: 106},
		opened: &vtpmdetect.OpenedTPM{Address: "/dev/tpmrm0", Properties: &tpm.Properties{
			Manufacturer: 0x49465800, VendorString: "SLB9670", SpecRevision: 116, MaxAuthFail: 32, ClockSafe: true,
			Counters: 1, CountersAvail: 7, CountersMax: 8,
		}},
		counter: tpm.Status{State: tpm.Ready, Value: 250, First: 1, Defined: now.AddDate(-1, 0, 0)},
	}
	f.state = stateFacts{dir: "/var/lib/opmint", node: &node{
		path: "/var/lib/opmint", mode: fs.ModeDir | 0o700, owner: person{name: "root"},
	}}
	f.state.owner = &f.state.node.owner
	f.state.disk.free, f.state.unread = 1<<30, store.ErrInUse
	f.clock = clockFacts{now: now, synced: new(true)}
	f.class = classFacts{fresh: true, report: vtpmdetect.Report{
		Evidence: vtpmdetect.Evidence{TPM: &vtpmdetect.TPM{Device: "/sys/devices/tpm0"}},
		Verdict: vtpmdetect.Verdict{TPM: vtpmdetect.TPMPhysical, Host: vtpmdetect.HostMetal, Class: vtpmdetect.ClassH,
			Reasons: []vtpmdetect.Reason{{Why: "a chip"}}},
	}}
	return f
}

func TestContent(t *testing.T) {
	d := diagnose(content())
	for _, f := range d.Checks {
		if f.State != conditionOK || f.Remedy != "" {
			t.Errorf("%+v", f)
		}
	}
	if d.Result != conditionOK || d.err() != nil {
		t.Errorf("the result is %s, %v", d.Result, d.err())
	}
}

// TestJudge judges what TestDoctor cannot make: warnings, what cannot be known, and
// machines that are not there. Each case differs from a machine on which all is well.
func TestJudge(t *testing.T) {
	busy := fmt.Errorf("open: %w", tpm.ErrBusy)
	denied := fmt.Errorf("open TPM /dev/tpmrm0: %w", fs.ErrPermission)
	for _, c := range []struct {
		check  string
		differ func(*facts)
		state  condition
		says   string
		remedy string
	}{
		{"device", func(f *facts) { f.tpm = tpmFacts{address: noTPM} }, conditionOK, "no TPM is wanted", ""},
		{"index", func(f *facts) { f.tpm = tpmFacts{address: noTPM} }, conditionNotChecked, "no TPM", ""},
		{"device", func(f *facts) { f.tpm = tpmFacts{openErr: tpm.ErrNoTPM} },
			conditionWarning, "this machine shows no TPM", "systemctl reboot --firmware-setup"},
		{"device", func(f *facts) {
			f.tpm = tpmFacts{openErr: tpm.ErrNoTPM}
			f.class.report.Evidence.Host.Container = "docker"
		}, conditionWarning, "this container shows no TPM", "docker run --device /dev/tpmrm0 IMAGE"},
		{"device", func(f *facts) { f.tpm.opened.Err = busy }, conditionWarning, "is in use", "opmint doctor"},
		{"device", func(f *facts) { f.tpm.opened.Err = syscall.EBUSY }, conditionWarning, "is in use", "opmint doctor"},
		{"device", func(f *facts) { f.tpm.opened.Err = errors.New("odd") }, conditionFailure, "(odd)",
			"systemctl poweroff"},
		{"device", func(f *facts) { f.tpm = tpmFacts{address: "/dev/tpmrm0", openErr: fs.ErrNotExist} },
			conditionFailure, "not exist", "modprobe -a tpm_crb tpm_tis"},
		{"device", func(f *facts) { f.tpm = tpmFacts{address: "tcp:[::1]:2321", openErr: syscall.ECONNREFUSED} },
			conditionFailure,
			"nobody answers",
			"swtpm socket --tpm2 --tpmstate dir=DIR --server type=tcp,bindaddr=::1,port=2321 --flags " +
				"not-need-init,startup-clear"},
		{"device", func(f *facts) { f.tpm.opened.Err = denied }, conditionNotChecked, "see permissions", ""},
		{"permissions", func(f *facts) { f.tpm.opened.Err = denied; f.me = person{uid: 1000, name: "alice"} },
			conditionNotChecked, "need not: the daemon does", "sudo opmint doctor"},
		{"permissions", func(f *facts) {
			f.tpm.opened.Err, f.me, f.tpm.node = denied, person{uid: 1000, name: "alice"}, nil
			f.daemon, f.unit = daemonFacts{}, unitFacts{}
		}, conditionFailure, "a folder above it is closed to you", "sudo opmint doctor"},
		{"lockout", func(f *facts) { f.tpm.opened.Properties.InLockout = true },
			conditionWarning, "the TPM takes none", "tpm2_dictionarylockout --clear-lockout -T device:/dev/tpmrm0"},
		{"lockout", func(f *facts) {
			f.tpm.opened.Properties.InLockout, f.tpm.opened.Properties.LockoutAuthSet = true, true
		}, conditionWarning, "the TPM takes none",
			"tpm2_dictionarylockout --clear-lockout --auth file:- -T device:/dev/tpmrm0"},
		{"lockout", func(f *facts) { f.tpm.opened.Properties.WriteRecovery = 4000 }, conditionWarning, "in 4000 ms",
			"opmint doctor"},
		{"nv", func(f *facts) { f.tpm.opened.Properties.CountersAvail = 0 }, conditionOK, "room for 0 more, 8 at most", ""},
		{"index", func(f *facts) { f.tpm.counter.State, f.daemon = tpm.Absent, daemonFacts{} }, conditionOK,
			"nothing is there yet", ""},
		{"index", func(f *facts) { f.tpm.counter.State = tpm.Unfinished }, conditionWarning, "never counted",
			"opmint provision"},
		{"index", func(f *facts) {
			f.tpm.counter.State, f.tpm.counter.Problem = tpm.Stranger, tpm.ErrStranger
			f.tpm.indexes = []uint32{0x01901d01, 0x01901d02}
		}, conditionFailure, "not opmint's", "mkdir -p /etc/systemd/system/opmintd.service.d && " +
			`printf '[Service]\nExecStart=\nExecStart=%s\n' '/usr/bin/opmintd --state=/srv/opmint --nv-index 0x01901d05 --nv-index 0x01901d03'` +
			" | tee /etc/systemd/system/opmintd.service.d/flags.conf && systemctl daemon-reload && systemctl restart " +
			"opmintd.service"},
		{"index", func(f *facts) { f.tpm.indexErr = fs.ErrPermission }, conditionNotChecked, "is closed to you", ""},
		{"index", func(f *facts) { f.tpm.counter.State, f.state.owner = tpm.AuthLost, &person{uid: 999, name: "opmint"} },
			conditionFailure, "is lost", "runuser -u opmint -- opmint provision --new-index --state /var/lib/opmint"},
		{"index", func(f *facts) {
			f.tpm.counter.State, f.state.owner = tpm.AuthLost, &person{uid: 999, name: "opmint"}
			f.state.node.group, f.unit.service["SupplementaryGroups"] = "opmint", "tss"
		}, conditionFailure, "is lost",
			"runuser -u opmint -g opmint -G tss -- opmint provision --new-index --state /var/lib/opmint"},
		{"ek-certificate", func(f *facts) {
			f.tpm.opened.EKCertificates = [][]byte{{1}}
			f.class.report.Evidence.TPM.EKIssuer = "CN=maker"
		}, conditionOK, "issued by CN=maker, which was not verified", ""},
		{"clock", func(f *facts) { f.clock.synced = new(false) }, conditionWarning, "nobody sets it right",
			"timedatectl set-ntp true"},
		{"clock", func(f *facts) { f.clock.built = f.clock.now.Add(time.Hour) }, conditionWarning,
			"before this program was made",
			"timedatectl set-ntp true"},
		{"clock", func(f *facts) { f.tpm.opened.Properties.ClockSafe = false }, conditionOK, "on which nothing depends",
			""},
		{"state", func(f *facts) { f.state.err = fs.ErrNotExist }, conditionWarning, "a daemon runs",
			"opmint doctor --state DIR"},
		{"state", func(f *facts) { f.state.disk.kind = "nfs" }, conditionWarning, "is on nfs", "mkdir"},
		{"state", func(f *facts) { f.state.disk.kind = "tmpfs" }, conditionWarning, "in memory only", "mkdir"},
		{"state", func(f *facts) { f.state.disk.free = 2 << 20 }, conditionWarning, "only 2 MB left",
			"journalctl --vacuum-size=100M"},
		{"state", func(f *facts) {
			f.state.owner = &person{uid: 999, name: "opmint"}
			f.me = person{uid: 1000, name: "alice"}
		}, conditionNotChecked, "run this as its owner", ""},
		{"unit", func(f *facts) { f.unit.service["LoadState"] = "not-found" }, conditionOK, "started by hand", ""},
		{"unit", func(f *facts) { f.unit.service["LoadState"], f.daemon = "not-found", daemonFacts{} },
			conditionWarning, "not installed", "apt-get install opmint"},
		{"unit", func(f *facts) { f.unit.socket["UnitFileState"] = "disabled" },
			conditionWarning, "not enabled", "systemctl enable opmintd.socket"},
		{"unit", func(f *facts) { f.unit.service["ActiveState"] = "inactive" }, conditionOK,
			"starts with the first request", ""},
		{"daemon", func(f *facts) { f.daemon.ready.Warning = "slow" }, conditionWarning, "slow", "opmint doctor"},
		{"version", func(f *facts) { f.daemon.health.Version = "v0.1.0" }, conditionWarning, "opmintd v0.1.0",
			"systemctl restart opmintd.service"},
		{"class", func(f *facts) { f.class.report.Verdict.Class = vtpmdetect.ClassV }, conditionWarning,
			"what is seen now says v",
			"systemctl restart opmintd.service"},
		{"class", func(f *facts) { f.daemon.identity.Assumed = true }, conditionOK, "by the operator's word", ""},
		{"class", func(f *facts) {
			f.daemon.identity.Class, f.daemon.identity.Rollbacks = keygen.ClassV, []api.Rollback{{What: "tpm"}}
		}, conditionWarning, "the TPM's counter went back once",
			"opmint provision --new-index && systemctl restart opmintd.service"},
		{"randomness", func(f *facts) { f.class.fresh = false }, conditionOK, "this is no VM", ""},
		{"randomness", func(f *facts) { f.class.fresh, f.class.report.Verdict.Host = false, vtpmdetect.HostVM },
			conditionWarning, "can repeat names", "virt-xml DOMAIN --edit --cpu host-passthrough"},
		{"randomness", func(f *facts) { f.daemon.identity.FreshRandomness = false }, conditionWarning, "was stuck",
			"systemctl restart opmintd.service"},
	} {
		f := content()
		c.differ(f)
		for _, check := range checks {
			if check.name != c.check {
				continue
			}
			found := check.judge(f)
			fits := found.Remedy == c.remedy || c.remedy == "mkdir" && strings.HasPrefix(found.Remedy, "mkdir ")
			if found.State != c.state || !strings.Contains(found.Says, c.says) || !fits {
				t.Errorf("%s: got %+v\nwant %s with %q and %q", c.check, found, c.state, c.says, c.remedy)
			}
		}
	}
}

func TestQuote(t *testing.T) {
	for arg, want := range map[string]string{
		"/dev/tpmrm0": "/dev/tpmrm0", "": "''", "a b": "'a b'", "$(reboot)": "'$(reboot)'", "it's": `'it'\''s'`,
	} {
		if got := quote(arg); got != want {
			t.Errorf("quote(%q) = %s, want %s", arg, got, want)
		}
	}
}
