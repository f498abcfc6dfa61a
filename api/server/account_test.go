package server

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/opmint/opmint/api"
	"github.com/opmint/opmint/keygen"
)

// TestPools: whatever users take and give, nobody has more than is allowed, and
// one who has nothing gets something.
func TestPools(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.Int64Range(4, 100).Draw(t, "size")
		p := pool{what: "things", left: size, reserved: size / 4, ofOne: rapid.Int64Range(1, 100).Draw(t, "of one")}
		have := make([]int64, size/2)
		for range rapid.IntRange(0, 300).Draw(t, "steps") {
			i := rapid.IntRange(0, len(have)-1).Draw(t, "user")
			if rapid.Bool().Draw(t, "give") && have[i] > 0 {
				p.give(&have[i], 1)
			} else if err := p.take(&have[i], 1, false); err == nil && have[i] > 1 && have[i] > p.left-p.reserved {
				t.Errorf("a user with %d got it of %d that were left", have[i], p.left)
			}
			sum := p.left
			for _, h := range have {
				sum += h
				if h < 0 || h > p.ofOne {
					t.Fatalf("a user has %d", h)
				}
			}
			if sum != size || p.left < p.reserved {
				t.Fatalf("%d are left, %d in all", p.left, sum)
			}
		}
		// A pool with few users has something for another one.
		var none int64
		if p.left > p.reserved {
			if err := p.take(&none, 1, false); err != nil {
				t.Error(err)
			}
		}
		if none = 0; p.take(&none, 1, true) != nil {
			t.Error("nothing for root")
		}
	})
}

// TestOneUserWearsNoTPM: what one user can have in the time in which the daemon may
// claim another epoch is less than an epoch.
func TestOneUserWearsNoTPM(t *testing.T) {
	const refill = 15 * time.Minute
	var m meter
	taken, now := uint64(0), time.Duration(0)
	as := newAccounts(Limits{Names: 1 << 40}, 0)
	a := account{of: as}
	for now < refill {
		cost := time.Duration(api.MaxLease) * time.Second / time.Duration(as.limits.Names)
		if wait := m.take(now, cost); wait > 0 {
			now += max(wait, time.Duration(rand.Int64N(int64(50*time.Millisecond))))
			continue
		}
		taken += api.MaxLease
	}
	if taken > keygen.MaxSeq || taken < 800*maxNamesRate {
		t.Errorf("one user gets %d names in %v, and an epoch has %d", taken, refill, uint64(keygen.MaxSeq)+1)
	}
	if err := a.takeNames(api.MaxNames); err != nil {
		t.Error(err)
	}
}

// TestIdleAccounts: users who come and go leave nothing behind.
func TestIdleAccounts(t *testing.T) {
	as := newAccounts(Limits{Connections: 1, AllConnections: 50}, 0)
	stays, err := as.connect(7)
	if err != nil {
		t.Fatal(err)
	}
	for uid := range uint32(10_000) {
		a, err := as.connect(1000 + uid)
		if err != nil {
			t.Fatal(err)
		}
		a.disconnect()
		if len(as.all) > 2*minAccounts {
			t.Fatalf("%d accounts", len(as.all))
		}
	}
	if _, err := as.connect(7); err == nil || as.of(7) != stays {
		t.Errorf("an account in use is forgotten: %v", err)
	}
	if got := fmt.Sprint(as.count()); got != "1 1 0" {
		t.Errorf("count: %s", got)
	}
}

func TestDefaults(t *testing.T) {
	got := Limits{}.withDefaults()
	if want := (Limits{1024, 256, 1_000_000_000, min(4096, descriptors())}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}
