package tpm

import (
	"context"
	"encoding/binary"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-tpm/tpm2"
)

// TestFewestCommands holds the package comment's table to what is sent.
func TestFewestCommands(t *testing.T) {
	const (
		public, start = "TPM2_NV_ReadPublic", "TPM2_StartAuthSession"
		read, inc     = "TPM2_NV_Read", "TPM2_NV_Increment"
	)
	eachTPM(t, func(t *testing.T, r *rig) {
		_, dir := r.counter()
		c := r.newCounter(dir)
		var rec recorder
		r.meddle(rec.hook)
		expect := func(what string, want ...string) {
			t.Helper()
			if got := rec.take(); !slices.Equal(got, want) {
				t.Errorf("%s:\n got %v\nwant %v", what, got, want)
			}
		}
		r.next(c)
		expect("first claim", public, start, read, inc, read)
		r.next(c)
		expect("later claim", public, start, inc, read)
		r.next(r.newCounter(dir))
		rec.take()
		r.next(c)
		expect("claim after somebody else's", public, start, inc, read, start, read, inc, read)
		r.next(r.newCounter(dir))
		rec.take()
		r.next(c)
		expect("claim where others are known", public, start, read, inc, read)
		if _, err := c.Read(t.Context()); err != nil {
			t.Error(err)
		}
		expect("Read", public, start, read)
		if err := c.Define(t.Context()); err != nil {
			t.Error(err)
		}
		expect("Define of what is there", public, start, read)
		if rec.saw(c.auth) {
			t.Error("the authorization value was sent in the clear")
		}
	})
}

// otherHand increments the counter and reads it, on the connection of somebody
// else, as naive software does. It returns what it takes for its own value.
func otherHand(t testing.TB, dir string, pass exchange) uint64 {
	t.Helper()
	l := &link{ctx: context.Background(), wire: borrowed(pass)}
	var value uint64
	for _, use := range []func(*index, *session) error{
		func(idx *index, s *session) error { return idx.increment(l, s) },
		func(idx *index, s *session) (err error) { value, err = idx.read(l, s); return err },
	} {
		auth, err1 := readAuth(dir)
		idx, err2 := findIndex(l, DefaultIndex)
		s, err3 := startSession(l, auth, nil)
		if err := errors.Join(err1, err2, err3); err != nil {
			t.Error(err) // not Fatal: this runs in the goroutine of a link
			return 0
		}
		s.endsWithNext()
		if err := use(idx, s); err != nil {
			t.Error(err)
		}
	}
	return value
}

// borrowed is a wire that is somebody else's connection.
type borrowed exchange

func (b borrowed) exchange(cmd []byte, _ time.Time) ([]byte, bool, error) { return b(cmd) }
func (b borrowed) close()                                                 {}

// worstMoment lets another hand increment right after each of the first n
// increments, between them and the read.
func worstMoment(t testing.TB, dir string, n int, owned func(uint64)) hook {
	return func(cc tpm2.TPMCC, cmd []byte, next exchange) ([]byte, bool, error) {
		rsp, sent, err := next(cmd)
		if cc == tpm2.TPMCCNVIncrement && n > 0 {
			n--
			owned(otherHand(t, dir, next))
		}
		return rsp, sent, err
	}
}

// TestNaiveClaimFails shows what this package is for: software that increments
// and then reads owns what somebody else owns.
func TestNaiveClaimFails(t *testing.T) {
	eachTPM(t, func(t *testing.T, r *rig) {
		_, dir := r.counter()
		var theirs uint64
		meddled := worstMoment(t, dir, 1, func(v uint64) { theirs = v })
		var ours uint64
		r.raw(func(l *link) {
			ours = otherHand(t, dir, func(cmd []byte) ([]byte, bool, error) {
				return meddled(code(cmd), cmd, func(cmd []byte) ([]byte, bool, error) {
					return l.wire.exchange(cmd, time.Now().Add(answerLimit))
				})
			})
		})
		if ours != theirs {
			t.Errorf("increment and read gave %d and %d: this test shows nothing", ours, theirs)
		}
	})
}

func TestIntruder(t *testing.T) {
	for _, n := range []int{1, maxTries - 1} {
		eachTPM(t, func(t *testing.T, r *rig) {
			c, dir := r.counter()
			all := ledger{t: t}
			r.meddle(worstMoment(t, dir, n, all.add))
			all.add(r.next(c))
			r.meddle(nil)
			all.add(r.next(c))
		})
	}
	eachTPM(t, func(t *testing.T, r *rig) {
		c, dir := r.counter()
		all := ledger{t: t}
		increments := 0
		meddled := worstMoment(t, dir, 1000, all.add)
		r.meddle(func(cc tpm2.TPMCC, cmd []byte, next exchange) ([]byte, bool, error) {
			if cc == tpm2.TPMCCNVIncrement {
				increments++
			}
			return meddled(cc, cmd, next)
		})
		if _, err := c.Next(t.Context()); !errors.Is(err, ErrBusy) {
			t.Errorf("an intruder each time: %v, want ErrBusy", err)
		}
		if increments != maxTries {
			t.Errorf("%d increments, want %d", increments, maxTries)
		}
		r.meddle(nil)
		all.add(r.next(c))
	})
}

// TestTwoDaemons lets two claimers with one index and auth value run at once,
// while a third hand increments between their claims.
func TestTwoDaemons(t *testing.T) {
	const claims = 40
	eachTPM(t, func(t *testing.T, r *rig) {
		a, dir := r.counter()
		all := ledger{t: t}
		var wg sync.WaitGroup
		for _, c := range []*Counter{a, r.twin(dir)} {
			wg.Go(func() {
				for range claims {
					all.claim(c, ErrBusy)
				}
			})
		}
		wg.Wait()
		if len(all.values) < claims {
			t.Errorf("%d claims of %d succeeded", len(all.values), 2*claims)
		}
	})
}

// TestTwoDaemonsInTurn has another hand increment between the claims.
func TestTwoDaemonsInTurn(t *testing.T) {
	eachTPM(t, func(t *testing.T, r *rig) {
		a, dir := r.counter()
		b := r.twin(dir)
		all := ledger{t: t}
		for range 5 {
			all.add(r.next(a))
			r.raw(func(l *link) {
				otherHand(t, dir, func(cmd []byte) ([]byte, bool, error) {
					return l.wire.exchange(cmd, time.Now().Add(answerLimit))
				})
			})
			all.add(r.next(b))
		}
		before, err := a.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		all.add(r.next(a))
		all.add(r.next(b))
		if after, err := a.Read(t.Context()); err != nil || after != before+2 {
			t.Errorf("two claims of daemons that know of each other took the counter from %d to %d (%v)", before, after, err)
		}
	})
}

func TestFirstIncrementIsNotOwned(t *testing.T) {
	eachTPM(t, func(t *testing.T, r *rig) {
		var rec recorder
		r.meddle(rec.hook)
		c, _ := r.counter()
		increments := func() (n int) {
			for _, name := range rec.take() {
				if name == "TPM2_NV_Increment" {
					n++
				}
			}
			return n
		}
		if n := increments(); n != 1 {
			t.Errorf("Define took %d increments, want 1", n)
		}
		first, err := c.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if v := r.next(c); v != first+1 {
			t.Errorf("first claim %d, want %d", v, first+1)
		}
		if n := increments(); n != 1 {
			t.Errorf("the claim took %d increments, want 1", n)
		}
	})
}

// undefine deletes whatever stands at the index, behind everybody's back.
func (r *rig) undefine() {
	r.t.Helper()
	name := must(r, tpm2.NVReadPublic{NVIndex: tpm2.TPMHandle(DefaultIndex)}).NVName
	must(r, tpm2.NVUndefineSpace{AuthHandle: tpm2.TPMRHOwner, NVIndex: tpm2.NamedHandle{Handle: DefaultIndex, Name: name}})
}

func TestClear(t *testing.T) {
	eachTPM(t, func(t *testing.T, r *rig) {
		c, _ := r.counter()
		all := ledger{t: t}
		all.add(r.next(c))
		ek, err := r.dev.EndorsementKey(t.Context(), EKOptions{})
		if err != nil {
			t.Fatal(err)
		}
		old, err := c.Incarnation(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		must(r, tpm2.Clear{AuthHandle: tpm2.TPMRHLockout})
		if _, err := c.Next(t.Context()); !errors.Is(err, ErrNotDefined) {
			t.Errorf("claim after TPM2_Clear: %v, want ErrNotDefined", err)
		}
		if err := c.Define(t.Context()); err != nil {
			t.Fatal(err)
		}
		if now, err := c.Incarnation(t.Context()); err != nil || now == old {
			t.Errorf("incarnation %x after TPM2_Clear, %x before (%v)", now, old, err)
		}
		all.add(r.next(c))
		if now, err := r.dev.EndorsementKey(t.Context(), EKOptions{}); err != nil || now.Fingerprint != ek.Fingerprint {
			t.Errorf("the endorsement key did not survive TPM2_Clear (%v)", err)
		}
	})
}

func TestRedefinedBetweenClaims(t *testing.T) {
	eachTPM(t, func(t *testing.T, r *rig) {
		c, dir := r.counter()
		all := ledger{t: t}
		all.add(r.next(c))
		other := r.twin(dir)
		if err := other.Undefine(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Next(t.Context()); !errors.Is(err, ErrNotDefined) {
			t.Errorf("claim on a deleted index: %v, want ErrNotDefined", err)
		}
		if err := other.Define(t.Context()); err != nil {
			t.Fatal(err)
		}
		for what, use := range map[string]func(context.Context) (uint64, error){"claim": c.Next, "read": c.Read} {
			if _, err := use(t.Context()); !errors.Is(err, ErrRedefined) {
				t.Errorf("%s after the index was defined anew: %v, want ErrRedefined", what, err)
			}
		}
		all.add(r.next(other))
		if err := c.Define(t.Context()); err != nil {
			t.Fatal(err)
		}
		all.add(r.next(c))
		mine, err := c.Incarnation(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if theirs, err := other.Incarnation(t.Context()); err != nil || theirs != mine {
			t.Errorf("two daemons on one index have the incarnations %x and %x (%v)", mine, theirs, err)
		}
	})
}

// TestRollback puts an old state of the TPM back between two claims.
func TestRollback(t *testing.T) {
	r := swtpmRig(t)
	c, dir := r.counter()
	r.next(c)
	snapshot := t.TempDir()
	if err := r.soft.Snapshot(snapshot); err != nil {
		t.Fatal(err)
	}
	r.next(c)
	last := r.next(c)
	if err := r.soft.Rewind(snapshot); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		_, err := c.Next(t.Context())
		var back *WentBackError
		if !errors.Is(err, ErrWentBack) || !errors.As(err, &back) || back.Before != last || back.Seen >= last {
			t.Fatalf("claim after a rollback: %v", err)
		}
	}
	if _, err := c.Read(t.Context()); !errors.Is(err, ErrWentBack) {
		t.Errorf("read after a rollback: %v", err)
	}
	if err := c.Define(t.Context()); !errors.Is(err, ErrWentBack) {
		t.Errorf("define after a rollback: %v", err)
	}
	// The caller has taken note, and its new Counter knows nothing of it.
	r.next(r.newCounter(dir))
}

// TestRollbackSeenByRead reads the lower value before it is claimed.
func TestRollbackSeenByRead(t *testing.T) {
	r := swtpmRig(t)
	c, _ := r.counter()
	snapshot := t.TempDir()
	if err := r.soft.Snapshot(snapshot); err != nil {
		t.Fatal(err)
	}
	r.next(c)
	if err := r.soft.Rewind(snapshot); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Read(t.Context()); !errors.Is(err, ErrWentBack) {
		t.Errorf("read after a rollback: %v", err)
	}
	if v, err := c.Next(t.Context()); !errors.Is(err, ErrWentBack) {
		t.Errorf("claim after a rollback that was read: %d, %v", v, err)
	}
}

// TestKilledDuringIncrement loses power in a claim, before the increment took
// effect and after it.
func TestKilledDuringIncrement(t *testing.T) {
	for name, effect := range map[string]bool{"before": false, "after": true} {
		t.Run(name, func(t *testing.T) {
			r := swtpmRig(t)
			c, dir := r.counter()
			all := ledger{t: t}
			all.add(r.next(c))
			for range 5 {
				killed := false
				r.meddle(func(cc tpm2.TPMCC, cmd []byte, next exchange) ([]byte, bool, error) {
					if cc != tpm2.TPMCCNVIncrement || killed {
						return next(cmd)
					}
					killed = true
					if effect {
						if rsp, _, err := next(cmd); err != nil || code(rsp) != 0 {
							t.Errorf("the increment that was to take effect: %x %v", rsp, err)
						}
					}
					if err := r.soft.Restart(); err != nil {
						t.Error(err)
					}
					rsp, _, err := next(cmd) // on a dead connection
					return rsp, true, err
				})
				before := all.values[len(all.values)-1]
				all.add(r.next(c))
				want := before + 1
				if effect {
					want++
				}
				if got := all.values[len(all.values)-1]; got != want {
					t.Errorf("claimed %d after %d, want %d", got, before, want)
				}
			}
			all.add(r.next(r.newCounter(dir)))
		})
	}
}

func TestDroppedConnections(t *testing.T) {
	eachTPM(t, func(t *testing.T, r *rig) {
		c, _ := r.counter()
		all := ledger{t: t}
		const drops = 100
		for dropped := 0; dropped < drops; {
			at := dropped / 2 % 4 // both connections of a claim die at the same command
			n := 0
			r.meddle(func(cc tpm2.TPMCC, cmd []byte, next exchange) ([]byte, bool, error) {
				rsp, sent, err := next(cmd)
				switch {
				case cc == tpm2.TPMCCGetCapability:
				case n == at:
					n, dropped = 0, dropped+1
					return nil, true, errDropped
				default:
					n++
				}
				return rsp, sent, err
			})
			all.claim(c, errDropped)
		}
		r.meddle(nil)
		all.add(r.next(c))
	})
}

var errDropped = errors.New("connection dropped")

// TestLeftovers fills a TPM on a socket with what other clients left behind.
func TestLeftovers(t *testing.T) {
	eachTPM(t, func(t *testing.T, r *rig) {
		c, _ := r.counter()
		for range 100 {
			r.raw(func(l *link) {
				// Fails once the TPM is full, where nobody cleans up.
				_, _ = startSession(l, nil, nil)
				_, _ = loadEK(l, EKOptions{Template: TemplateECC})
			})
		}
		r.next(c)
	})
}

func TestAuthValuesWithZeros(t *testing.T) {
	eachTPM(t, func(t *testing.T, r *rig) {
		for _, auth := range [][]byte{
			append([]byte{1, 0, 2}, make([]byte, 29)...), // cut by the TPM
			append(make([]byte, 31), 1),
			binary.BigEndian.AppendUint64(append([]byte("........"), make([]byte, 16)...), 1),
			make([]byte, 32),
		} {
			dir := t.TempDir()
			writeFile(t, dir, authFile, auth)
			c := r.newCounter(dir)
			if err := c.Define(t.Context()); err != nil {
				t.Errorf("define with the value %x: %v", auth, err)
				continue
			}
			r.next(c)
			r.undefine()
		}
	})
}
