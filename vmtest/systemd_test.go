//go:build vm

package vmtest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/opmint/opmint/api"
	"github.com/opmint/opmint/keygen"
	"github.com/opmint/opmint/vtpmdetect"
)

// TestSystemd has the units do in a real system what they are for.
func TestSystemd(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	s.sh("systemctl enable --now opmintd.socket && ! systemctl is-active opmintd.service")
	s.sh("useradd --create-home --groups opmint,tss member && useradd --create-home stranger")
	for _, c := range []struct {
		name string
		test func(*system)
	}{
		{"the first client gets the first name", testFirstClient},
		{"the sandbox hides nothing from detection", testDetectionInside},
		{"the sandbox leaves the TPM and nothing else", testDevices},
		{"a restart loses nothing", testRestart},
		{"a socket that was removed is made anew", testSocketAnew},
		// The first makes a daemon hang, and the next shows what became of it: the watchdog needs a minute.
		{"a daemon of a user's own", testUser},
		{"the watchdog ends a daemon that hangs", testBitten},
		{"a daemon in a container", testContainer},
		{"a crash loop ends", testCrashLoop},
	} {
		if !t.Run(c.name, func(t *testing.T) { c.test(&system{t, s.vm}) }) {
			t.Fatalf("journal:\n%s", s.sh("journalctl --unit='opmintd*' --unit=container --unit='user@*' --lines=100"))
		}
	}
}

// A system is a running machine with systemd and opmint installed.
type system struct {
	*testing.T
	vm *VM
}

func newSystem(t *testing.T) *system {
	t.Helper()
	disk, err := FindSystem()
	if err != nil {
		t.Fatal(err)
	}
	m := &Machine{
		Folder: t.TempDir(), Kernel: image.kernel, Initramfs: image.system, System: disk, TPM: "tpm-crb",
		Generation: generation(0), SMBIOS: laptop,
	}
	if err := m.Create(t.Context()); err != nil {
		t.Fatal(err)
	}
	showConsole(t, m)
	return &system{t, boot(t, m)}
}

// try runs a script, and returns what it prints.
func (s *system) try(script string) (string, error) {
	ctx, cancel := context.WithTimeout(s.Context(), patience)
	defer cancel()
	var stdout bytes.Buffer
	err := s.vm.Run(ctx, &stdout, "sh", "-euc", script)
	return strings.TrimSpace(stdout.String()), err
}

// sh runs a script that has to succeed.
func (s *system) sh(script string) string {
	s.Helper()
	out, err := s.try(script)
	if err != nil {
		s.Fatalf("%v\n%s", err, out)
	}
	return out
}

// wants fails the test unless a script prints this.
func (s *system) wants(want, script string) {
	s.Helper()
	if got := s.sh(script); got != want {
		s.Errorf("%s\nprints %q, want %q", script, got, want)
	}
}

// mint has a script print one name, or several of one epoch, and returns the first.
func (s *system) mint(script string) keygen.Name {
	s.Helper()
	added := minted.add(s.T, []byte(s.sh(script)+"\n"), script)
	if len(added) == 0 {
		s.Fatalf("%s: prints no name", script)
	}
	return added[0]
}

// testFirstClient has clients who may and who may not, and looks at what the daemon is then.
func testFirstClient(s *system) {
	if _, err := s.try("runuser -u stranger -- opmint mint"); err == nil {
		s.Error("somebody who is not in the group opmint got a name")
	}
	n := s.mint("runuser -u member -- opmint mint")
	if n.Seq() != 0 {
		s.Errorf("the first client has the name %s", n)
	}
	s.wants(fmt.Sprintf("mints names of class v, identity %s, epoch %d", n.Identity(), n.Epoch()),
		"systemctl show --property=StatusText --value opmintd")
	s.wants("opmint opmint", "stat --format='%U %G' /proc/$(systemctl show --property=MainPID --value opmintd)")
	s.wants("opmint opmint 700 /var/lib/opmint\nroot opmint 660 /run/opmint/opmint.sock",
		"stat --format='%U %G %a %n' /var/lib/opmint /run/opmint/opmint.sock")
	s.wants("", "find /var/lib/opmint -type f ! -perm 600")
}

// testDetectionInside compares what the daemon has seen with what root sees outside.
func testDetectionInside(s *system) {
	var inside api.Identity
	var outside vtpmdetect.Report
	if err := json.Unmarshal([]byte(s.sh("opmint status --json")), &inside); err != nil {
		s.Fatal(err)
	}
	if err := json.Unmarshal([]byte(s.sh("opmint detect --json")), &outside); err != nil {
		s.Fatal(err)
	}
	if !reflect.DeepEqual(inside.Evidence, outside.Evidence) {
		s.Errorf("the daemon sees\n%+v, root sees\n%+v", inside.Evidence, outside.Evidence)
	}
	// All kinds of sources have to be there, or the comparison proves less than it seems to.
	if e := outside.Evidence; e.TPM == nil || e.TPM.Driver == "" || e.TPM.Manufacturer == 0 || e.Host.CPUHypervisorFlag == nil ||
		e.Host.DMI.SysVendor != "LENOVO" || len(e.Host.ACPIModalias) == 0 {
		s.Errorf("this machine shows too little: %+v", e)
	}
}

// testDevices opens devices as root, but as part of the unit.
func testDevices(s *system) {
	const inUnit = "echo $$ >/sys/fs/cgroup/system.slice/opmintd.service/cgroup.procs; "
	s.sh(inUnit + ": <>/dev/tpmrm0; : >/dev/null")
	for _, device := range []string{"/dev/tpm0", "/dev/vda", "/dev/ttyS0", "/dev/mem"} {
		s.sh(": <" + device)
		if out, err := s.try(inUnit + ": <" + device); err == nil || !strings.Contains(err.Error(), "Operation not permitted") {
			s.Errorf("%s in the unit: %v %s", device, err, out)
		}
	}
}

// testRestart restarts the daemon while clients mint who ask at most twice.
func testRestart(s *system) {
	s.sh(`mkdir /tmp/load
		for i in 1 2 3; do
			(while [ ! -e /tmp/load/over ]; do
				opmint mint || opmint mint || echo lost
			done >/tmp/load/$i 2>/dev/null) &
		done
		for i in 1 2 3; do
			opmint mint
			systemctl restart opmintd.service
		done >/tmp/load/between
		opmint mint >>/tmp/load/between
		touch /tmp/load/over
		wait`)
	s.wants("", "grep --no-filename lost /tmp/load/? || true")
	epochs := map[uint64]bool{}
	for _, n := range minted.add(s.T, []byte(s.sh("cat /tmp/load/? /tmp/load/between")+"\n"), "under load") {
		epochs[n.Epoch()] = true
	}
	if len(epochs) != 4 {
		s.Errorf("names of the epochs %v, want those of 4 starts", epochs)
	}
}

// testSocketAnew types what the daemon says.
func testSocketAnew(s *system) {
	s.sh("rm /run/opmint/opmint.sock")
	if out, err := s.try("opmint mint"); err == nil {
		s.Errorf("without a socket: %s", out)
	}
	s.sh("systemctl restart opmintd.socket")
	s.mint("opmint mint")
}

// testUser has a daemon of a user without root, under that user's systemd. The machine's hangs meanwhile.
func testUser(s *system) {
	s.sh("systemctl kill --signal=STOP opmintd.service")
	s.sh(`loginctl enable-linger member
		systemctl start user@$(id -u member).service
		cat >/tmp/as-member <<-'END'
			#!/bin/sh
			export XDG_RUNTIME_DIR=/run/user/$(id -u member)
			exec runuser -u member -- "$@"
		END
		chmod +x /tmp/as-member
		mkdir -p /home/member/.config/systemd/user/opmintd.service.d
		cat >/home/member/.config/systemd/user/opmintd.service.d/index.conf <<-'END'
			[Service]
			ExecStart=
			ExecStart=/usr/bin/opmintd --nv-index 0x01901d02
		END
		/tmp/as-member systemctl --user daemon-reload
		/tmp/as-member systemctl --user start opmintd.socket`)
	own := s.mint("/tmp/as-member opmint mint")
	s.wants("member", "stat --format=%U /proc/$(/tmp/as-member systemctl --user show --property=MainPID --value opmintd)")
	s.wants("member 600\nmember 700",
		"stat --format='%U %a' /run/user/$(id -u member)/opmint/opmint.sock /home/member/.local/state/opmint")
	s.sh("/tmp/as-member systemctl --user stop opmintd.service")
	again := s.mint("/tmp/as-member opmint mint")
	if again.Epoch() <= own.Epoch() || again.Class() != keygen.ClassV {
		s.Errorf("%s, after a stop %s", own, again)
	}
	s.sh("/tmp/as-member systemctl --user stop opmintd.socket")
}

// testBitten waits for the machine's daemon, which hangs, to be replaced. On a machine that is busy it may have been.
func testBitten(s *system) {
	s.mint("until opmint mint; do :; done")
	s.sh("journalctl --unit=opmintd --grep='Watchdog timeout'")
	// It says where it hung.
	s.sh("journalctl --unit=opmintd --grep='SIGABRT: abort' && journalctl --unit=opmintd --grep='goroutine '")
	s.wants("1", "systemctl show --property=NRestarts --value opmintd")
}

// testContainer runs the daemon without systemd, in a root that has the programs and the TPM's device file.
func testContainer(s *system) {
	s.sh(`mkdir -p /container/dev /container/proc /container/sys
		cp /usr/bin/opmint /usr/bin/opmintd /container
		cp -a /dev/tpmrm0 /dev/null /dev/urandom /container/dev
		mount --types sysfs --options ro sysfs /container/sys
		systemd-run --unit=container --property=StandardError=journal \
			unshare --mount --pid --ipc --net --uts --fork --kill-child=TERM --mount-proc=/container/proc \
			chroot /container /opmintd --nv-index 0x01901d03`)
	n := s.mint("until chroot /container /opmint mint; do systemctl is-active --quiet container; done")
	if n.Class() != keygen.ClassV {
		s.Errorf("%s", n)
	}
	s.sh("systemctl stop container")
	s.sh("journalctl --unit=container --grep=msg=stopped")
}

// testCrashLoop kills the daemon whenever it has given a name, until systemd gives up. What the unit's comment says
// then repairs it.
func testCrashLoop(s *system) {
	s.sh(`systemctl stop opmintd.service
		systemctl reset-failed opmintd.service
		mkdir -p /run/systemd/system/opmintd.service.d
		printf '[Service]\nRestartSec=0\n' >/run/systemd/system/opmintd.service.d/hurry.conf
		systemctl daemon-reload`)
	before := s.mint("opmint mint")
	s.sh(`until systemctl is-failed --quiet opmintd.socket; do
			opmint mint >>/tmp/crashes || true
			systemctl kill --signal=KILL opmintd.service || true
		done`)
	minted.add(s.T, []byte(s.sh("cat /tmp/crashes")+"\n"), "between crashes")
	s.wants("service-start-limit-hit", "systemctl show --property=Result --value opmintd.socket")
	if out, err := s.try("opmint mint"); err == nil {
		s.Errorf("after the end: %s", out)
	}
	s.sh("systemctl reset-failed opmintd.service opmintd.socket && systemctl start opmintd.socket")
	// The sum in the unit: eight starts, of which the first was ours, and now another.
	if after := s.mint("opmint mint"); after.Epoch() > before.Epoch()+8 || after.Epoch() < before.Epoch()+3 {
		s.Errorf("the epochs before and after are %d and %d, want at most 8 starts between", before.Epoch(), after.Epoch())
	}
}
