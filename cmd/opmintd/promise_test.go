package main

import (
	"testing"

	"github.com/google/go-tpm/tpm2"

	"github.com/opmint/opmint/keygen"
)

// These tests are the rows of the table of what is promised of the minter.

// Daemon killed, machine crashes, power lost: no name repeats.
func TestPromiseKilled(t *testing.T) {
	eachClass(t, func(t *testing.T, w *world) {
		for range 3 {
			p := w.up()
			w.check(p, 20)
			p.kill()
			p = w.up()
			w.check(p, 20)
			w.tpm.Kill()
			p.kill()
			must(t, w.tpm.Restart())
		}
	})
}

// Two daemons, or a daemon and somebody's TPM2_NV_Increment, on one TPM: no name
// repeats.
func TestPromiseOneTPM(t *testing.T) {
	eachClass(t, func(t *testing.T, w *world) {
		first := w.up("--names-per-epoch", "20")
		w.check(first, 20)
		other := w.copyOf()
		second := other.up("--names-per-epoch", "20")
		other.check(second, 20)
		for range 5 {
			if w.class != keygen.ClassJ {
				if _, err := w.counter().Next(t.Context()); err != nil {
					t.Error(err)
				}
			}
			for _, p := range []*process{first, second} {
				minted, err := p.tryMint(100)
				must(t, err)
				for _, n := range minted {
					if w.names.seen[n] {
						t.Errorf("%s was minted twice", n)
					}
					w.names.seen[n] = true
				}
			}
		}
		// While they run they know what they did themselves: the rest is
		// somebody else's.
		first.wantRollbacks()
		second.wantRollbacks()
	})
}

// TPM2_Clear, NV index deleted and defined again: no name repeats; a new
// incarnation, so a new identity.
func TestPromiseNewIndex(t *testing.T) {
	eachClass(t, func(t *testing.T, w *world) {
		w.run()
		if w.class != keygen.ClassJ {
			w.renewIndex()
		}
		w.run()
		ask(w.rig, tpm2.Clear{AuthHandle: tpm2.AuthHandle{Handle: tpm2.TPMRHLockout, Auth: tpm2.PasswordAuth(nil)}})
		w.run()
		if len(w.names.identities) != 3 {
			t.Errorf("the identities are %v, want 3", w.names.identities)
		}
	})
}

// The state folder lost, TPM not: no name repeats; noticed while the index is
// ours.
func TestPromiseFolderLost(t *testing.T) {
	eachClass(t, func(t *testing.T, w *world) {
		w.run()
		w.run()
		w.loseJournal()
		w.notices("journal")
		w.run()
		w.loseFolder()
		if w.class != keygen.ClassJ {
			w.launch().refuses(exitRefused, "`opmint provision --new-index`")
			w.renewIndex()
		}
		w.noticed = nil
		w.run()
	})
}

// The state folder restored from a backup, or rolled back, TPM not: no name
// repeats; noticed with a TPM.
func TestPromiseFolderRolledBack(t *testing.T) {
	eachClass(t, func(t *testing.T, w *world) {
		w.run()
		then := w.remember()
		w.run()
		w.notices("journal")
		for range 2 {
			w.rollBackFolder(then)
			w.run()
		}
	})
}

// The TPM's state rolled back, the state folder not: noticed and recorded; class
// v until the index is made anew.
func TestPromiseTPMRolledBack(t *testing.T) {
	eachClass(t, func(t *testing.T, w *world) {
		w.run()
		then := w.remember()
		w.run()
		w.rollBackTPM(then)
		w.notices("tpm")
		w.run()
		w.run()
		w.renewIndex()
		w.run()
	})
}

// The same, under a running daemon.
func TestPromiseTPMRolledBackMeanwhile(t *testing.T) {
	eachClass(t, func(t *testing.T, w *world) {
		w.run()
		then := w.remember()
		p := w.up()
		w.check(p, 20)
		w.rollBackTPM(then)
		w.notices("tpm")
		if _, err := p.client.Renew(t.Context()); err != nil {
			t.Error(err)
		}
		w.check(p, 20)
		p.stop()
		w.run()
	})
}

// Both rolled back together: cannot be noticed from inside; no name repeats but
// for chance.
func TestPromiseBothRolledBack(t *testing.T) {
	eachClass(t, func(t *testing.T, w *world) {
		w.run()
		then := w.remember()
		for range 3 {
			w.run()
			w.rollBackTPM(then)
			w.rollBackFolder(then)
		}
		w.run()
	})
}

// VM, disk or vTPM cloned: no name repeats but for chance; in v and j each start
// is an identity of its own.
func TestPromiseCloned(t *testing.T) {
	eachClass(t, func(t *testing.T, w *world) {
		w.run()
		// The disk: both daemons have the TPM.
		disk := w.copyOf()
		w.run()
		disk.notices("journal")
		disk.run()
		// The TPM: it comes to a folder that knows nothing of it.
		w.notices("journal")
		tpm := w.cloneOf()
		tpm.loseJournal()
		tpm.noticed = nil
		tpm.notices("journal")
		tpm.run()
		// Both.
		both := w.cloneOf()
		both.run()
		w.run()
	})
}

// The TPM lost, with the state folder or without it, or the folder moved to
// another board: no rollback.
func TestPromiseTPMLost(t *testing.T) {
	eachClass(t, func(t *testing.T, w *world) {
		w.run()
		w.loseTPM()
		p := w.up()
		w.check(p, 20)
		p.stop()
		if moved := "this is another TPM: the state folder was moved, or the board replaced"; w.class != keygen.ClassJ {
			p.endsWith(exitDone, moved)
		}
		w.loseTPM()
		w.loseFolder()
		w.run()
	})
}

// Two daemons on two copies of one TPM and state folder: no name twice in twice
// 100,000; in v and j two identities.
func TestPromiseTwins(t *testing.T) {
	eachClass(t, func(t *testing.T, w *world) {
		w.run()
		twin := w.cloneOf()
		here, there := w.up(), twin.up()
		done := make(chan struct{})
		go func() {
			defer close(done)
			twin.check(there, 100_000)
		}()
		w.check(here, 100_000)
		<-done
		if len(w.names.seen) != 200_020 {
			t.Errorf("%d names", len(w.names.seen))
		}
		one, other := here.identity(), there.identity()
		if same := one.Identity == other.Identity; same != (w.class == keygen.ClassH) {
			t.Errorf("the identities are %s and %s", one.Identity, other.Identity)
		}
	})
}
