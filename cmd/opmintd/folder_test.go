package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/opmint/opmint/api"
	"github.com/opmint/opmint/keygen"
)

// TestJournalDamaged: whatever has become of the journal, the daemon says so and
// does not start, least of all from 0. Once the operator has moved the rest away,
// it begins a new one, which loses nothing that names rest on.
func TestJournalDamaged(t *testing.T) {
	for what, damage := range map[string]func([]byte) []byte{
		"garbage":     func(data []byte) []byte { return fmt.Appendf(nil, "%0*d", len(data), 7) },
		"half a file": func(data []byte) []byte { return data[:len(data)/2] },
		"0 bytes":     func([]byte) []byte { return nil },
	} {
		t.Run(what, func(t *testing.T) {
			eachClass(t, func(t *testing.T, w *world) {
				w.run()
				path := filepath.Join(w.state, "journal")
				data, err := os.ReadFile(path)
				must(t, err)
				writeFile(t, path, damage(data))
				w.launch().refuses(exitRefused, "store is damaged")
				w.launch().refuses(exitRefused, "restore all of it from a backup, or, to start empty, move it and "+path+".created away")
				w.loseJournal()
				w.notices("journal")
				w.run()
			})
		})
	}
}

// TestJournalLost: a journal that is gone is not a new one.
func TestJournalLost(t *testing.T) {
	eachClass(t, func(t *testing.T, w *world) {
		w.run()
		must(t, os.Remove(filepath.Join(w.state, "journal")))
		w.launch().refuses(exitRefused, "restore it from a backup, or remove that file to start empty")
		must(t, os.Remove(filepath.Join(w.state, "journal.created")))
		w.notices("journal")
		w.run()
	})
}

// TestJournalForeign: what another user has made is not the daemon's.
func TestJournalForeign(t *testing.T) {
	eachClass(t, func(t *testing.T, w *world) {
		w.run()
		path := filepath.Join(w.state, "journal")
		must(t, os.Chmod(path, 0o644))
		w.launch().refuses(exitRefused, "make sure that nobody changed it, then chmod 0600")
		must(t, os.Chmod(path, 0o600))
		if os.Geteuid() == 0 { // else nobody can give it away
			must(t, os.Chown(path, 65534, -1))
			w.launch().refuses(exitRefused, "not owned by uid 0")
		}
		must(t, os.Remove(path))
		must(t, os.Mkdir(path, 0o700))
		w.launch().refuses(exitRefused, "not a regular file")
	})
}

// TestJournalInUse: somebody else has the journal open.
func TestJournalInUse(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.start()
	must(t, os.Remove(filepath.Join(r.state, "lock")))
	r.another().refused(exitTryAgain, "store is in use", "--state", r.state)
	p.mint(1)
}

// mounted starts a daemon in a mount namespace, after a shell command has made of
// its state folder what is to be tried.
func (w *world) mounted(command string, more ...string) *process {
	w.t.Helper()
	args := append([]string{
		"-rm", "sh", "-c", command + ` && shift && exec "$@"`, "sh", w.state, w.opmintd(),
		"--tpm", w.addr, "--state", w.state, "--socket", w.socket,
	}, classArgs[w.class]...)
	p := newProgram(w.t, "unshare", append(args, more...)...)
	p.launch()
	p.client.Socket = w.socket
	return p
}

func (w *world) opmintd() string {
	w.t.Helper()
	path, err := exec.LookPath("opmintd")
	must(w.t, err)
	return path
}

// TestFolderReadOnly: a state folder that cannot be written is no reason to mint
// all the same.
func TestFolderReadOnly(t *testing.T) {
	eachClass(t, func(t *testing.T, w *world) {
		w.run()
		const readOnly = `mount --bind "$1" "$1" && mount -o remount,bind,ro "$1"`
		w.mounted(readOnly).refuses(exitError, "read-only file system")
		w.run()
	})
}

// TestFolderFull: with no room for the journal there is no start; where it fills
// up later, minting goes on in the open epoch, and nothing is claimed.
func TestFolderFull(t *testing.T) {
	eachClass(t, func(t *testing.T, w *world) {
		must(t, os.Mkdir(w.state, 0o700))
		const small = `mount -t tmpfs -o mode=700,size=%s none "$1"`
		w.mounted(fmt.Sprintf(small, "16k")).refuses(exitError, "no space left on device")
		// With so few names an epoch, it is not the bucket that refuses.
		p := w.mounted(fmt.Sprintf(small, "4m"), "--names-per-epoch", "1000")
		if !p.logs("msg=started") {
			t.Fatalf("the daemon did not start:\n%s", p.output())
		}
		w.check(p, 20)
		before := p.identity()
		ballast := filepath.Join("/proc", fmt.Sprint(p.cmd.Process.Pid), "root", w.state, "ballast")
		if err := os.WriteFile(ballast, make([]byte, 8<<20), 0o600); err == nil {
			t.Fatal("the folder is not full")
		}
		for errors.Is(errAfter(p.client.Renew(t.Context())), nil) {
			// A commit or two may still find free pages in the journal's file.
			before = p.identity()
		}
		if err := errAfter(p.client.Renew(t.Context())); !errors.Is(err, api.ErrUnavailable) {
			t.Errorf("renewing: %v, want ErrUnavailable", err)
		}
		now := p.identity()
		if now.Identity != before.Identity || now.Epoch != before.Epoch {
			t.Errorf("%+v became %+v", before, now)
		}
		if n := p.mint(20)[0]; n.Identity() != before.Identity || n.Epoch() != before.Epoch {
			t.Errorf("%s after the disk was full", n)
		}
		must(t, os.Remove(ballast))
		if _, err := p.client.Renew(t.Context()); err != nil {
			t.Errorf("with room again: %v", err)
		}
	})
}

func errAfter(_ *api.Identity, err error) error { return err }

// TestUnusableTPM: a TPM that is there and cannot be used is not the same as none.
func TestUnusableTPM(t *testing.T) {
	w := &world{rig: newRig(t), class: keygen.ClassH}
	must(t, w.tpm.Stop())
	w.launch().refuses(exitError, "is the software TPM running")
	w.class = keygen.ClassV
	w.launch().refuses(exitError, "is the software TPM running")
}
