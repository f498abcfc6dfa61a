//go:build packages

package packaging_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/opmint/opmint/keygen"
)

// state is what names depend on, so what removal leaves.
const state = "/var/lib/opmint"

// TestDebian installs, upgrades, removes and purges the .deb where no systemd runs,
// as in a container.
func TestDebian(t *testing.T) {
	r := newRoot(t)
	before := r.files()
	r.install(deb)
	r.wantBuild("")
	r.wantEpoch(1, r.mintByHand())
	r.install(laterDeb)
	r.wantBuild(later)
	r.wantEpoch(2, r.mintByHand())
	r.run("dpkg", "--remove", "opmint")
	r.onlyChanged(before, append(users, state)...)
	r.install(deb)
	r.wantEpoch(3, r.mintByHand())
	const advice = "tpm2_nvundefine -C o 0x01901d01"
	if said := r.purge(); strings.Contains(said, advice) {
		t.Errorf("where there was no counter, purging says %s", said)
	}
	r.onlyChanged(before, users...)
	r.install(deb)
	r.wantEpoch(1, r.mintByHand())
	r.run("touch", state+"/index.auth")
	if said := r.purge(); !strings.Contains(said, advice) {
		t.Errorf("a counter stays in the TPM, and purging says %s", said)
	}
	r.onlyChanged(before, users...)
}

// purge removes the package with all that is its own, and returns what it says.
func (r *root) purge() string {
	r.t.Helper()
	return r.run("sh", "-c", "dpkg --purge opmint 2>&1")
}

// TestDebianUnderSystemd does so where a systemd runs, and starts the daemon.
func TestDebianUnderSystemd(t *testing.T) {
	r := newRoot(t)
	r.boot()
	defer r.tell()
	before := r.files()

	r.install(deb)
	r.wantUnit("opmintd.socket", "active", "enabled")
	r.wantUnit("opmintd.service", "inactive", "indirect")
	r.wantEpoch(1, r.mint())
	r.wantUnit("opmintd.service", "active", "indirect")
	// It reads the unit, where systemd shows ${STATE_DIRECTORY} as it stands there.
	if said := r.run("sh", "-c", "opmint doctor || true"); !strings.Contains(said, "the journal open") {
		t.Errorf("doctor does not find the daemon's state folder:\n%s", said)
	}
	old := r.run("systemctl", "show", "--property=MainPID", "opmintd.service")

	r.install(laterDeb)
	if r.run("systemctl", "show", "--property=MainPID", "opmintd.service") == old {
		t.Error("the daemon of the old version runs after an upgrade")
	}
	r.wantEpoch(2, r.mint())

	r.run("dpkg", "--remove", "opmint")
	r.wantUnit("opmintd.socket", "inactive", "")
	r.wantUnit("opmintd.service", "inactive", "")
	r.onlyChanged(before, append(users, state)...)

	r.install(deb)
	r.wantEpoch(3, r.mint())
	r.run("dpkg", "--purge", "opmint")
	r.wantUnit("opmintd.service", "inactive", "")
	r.onlyChanged(before, users...)
}

// TestDisabled: what an administrator has disabled stays so, when the package is
// upgraded and when it is removed and installed again; and it is gone after a purge.
func TestDisabled(t *testing.T) {
	r := newRoot(t)
	before := r.files()
	r.install(deb)
	r.run("systemctl", "disable", "opmintd.socket")
	r.install(laterDeb)
	r.wantEnabled("disabled")
	r.run("dpkg", "--remove", "opmint")
	r.install(deb)
	r.wantEnabled("disabled")
	r.run("dpkg", "--purge", "opmint")
	r.onlyChanged(before, users...)
	r.install(deb)
	r.wantEnabled("enabled")
}

// wantBuild wants both programs to tell version and commit, with its time; "" is any
// version.
func (r *root) wantBuild(version string) {
	r.t.Helper()
	for _, args := range [][]string{{"opmint", "version", "--json"}, {"opmintd", "--version", "--json"}} {
		var build struct {
			Version, Commit string
			Committed       time.Time
		}
		if err := json.Unmarshal([]byte(r.run(args...)), &build); err != nil {
			r.t.Fatal(err)
		}
		if version != "" && build.Version != version || build.Version == "" || build.Commit != commit {
			r.t.Errorf("%s is %s, commit %s; want %s, %s", args[0], build.Version, build.Commit, version, commit)
		}
		if !build.Committed.Equal(committed) {
			r.t.Errorf("%s is of a commit of %v, want %v", args[0], build.Committed, committed)
		}
	}
}

// mint takes a name from the daemon.
func (r *root) mint() string {
	r.t.Helper()
	return strings.TrimSpace(r.run("opmint", "mint"))
}

// mintByHand takes a name from a daemon that is there for nothing else, and that
// runs as systemd would run it.
func (r *root) mintByHand() string {
	r.t.Helper()
	return strings.TrimSpace(r.run("sh", "-euc", `
		mkfifo /tmp/log
		chown opmint: /run/opmint
		setpriv --reuid opmint --regid opmint --init-groups opmintd --tpm none \
			--state /var/lib/opmint --socket /run/opmint/opmint.sock 2>/tmp/log &
		while read -r line; do
			case $line in *started*) break ;; esac
		done </tmp/log
		opmint mint
		kill $!
		wait $!
		rm /tmp/log
	`))
}

// wantEpoch wants the name to be of class j and of the given epoch: the daemon's
// first start claims 1, and each the next that its state does not have.
func (r *root) wantEpoch(epoch uint64, text string) {
	r.t.Helper()
	name, err := keygen.Parse(text)
	if err != nil {
		r.t.Fatal(err)
	}
	if name.Class() != keygen.ClassJ || name.Epoch() != epoch {
		r.t.Errorf("minted %s of epoch %d, want class j and epoch %d", name, name.Epoch(), epoch)
	}
}

// wantUnit wants a unit to be in a state, and its file in another; "" is no file.
func (r *root) wantUnit(unit, active, file string) {
	r.t.Helper()
	got := strings.Split(r.run("systemctl", "show", "--value", "--property=ActiveState,UnitFileState", unit), "\n")
	if !slices.Contains(got, active) || !slices.Contains(got, file) {
		r.t.Errorf("%s is %q, want %q and %q", unit, got, active, file)
	}
}

// wantEnabled wants the socket to be enabled, or disabled.
func (r *root) wantEnabled(want string) {
	r.t.Helper()
	// It fails if the answer is disabled.
	out, _ := r.command("systemctl", "is-enabled", "opmintd.socket").Output()
	if got := strings.TrimSpace(string(out)); got != want {
		r.t.Errorf("the socket is %s, want %s", got, want)
	}
}
