package journal_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/opmint/opmint/journal"
	"github.com/opmint/opmint/keygen"
	"github.com/opmint/opmint/store/storetest"
)

// TestIdentities checks which starts have an identity of their own.
func TestIdentities(t *testing.T) {
	m, tpm := storetest.NewMemory(), newTPM()
	var ids []keygen.Identity
	for i, step := range []struct {
		class keygen.Class
		first int // of the steps with this identity
	}{
		{keygen.ClassH, 0},
		{keygen.ClassH, 0},
		{keygen.ClassV, 2},
		{keygen.ClassV, 3},
		{keygen.ClassJ, 4},
		{keygen.ClassJ, 5},
		{keygen.ClassH, 0},
	} {
		m = m.Restart()
		d := started(t, m, step.class, tpm)
		d.claim(t)
		ids = append(ids, d.counter.Identity())
		if first := slices.Index(ids, ids[i]); first != step.first {
			t.Errorf("step %d, class %s: identity of step %d, want that of %d", i, step.class, first, step.first)
		}
	}
}

// TestRenewal draws a new minter, which is kept, though the Counter from before is
// not used up yet.
func TestRenewal(t *testing.T) {
	tpm, minter := newTPM(), drawMinter()
	d := started(t, storetest.NewMemory(), keygen.ClassH, tpm)
	d.claim(t)
	renewed, err := d.journal.Counter(journal.CounterConfig{
		Class: keygen.ClassH, Standing: d.standing, Minter: minter, Reason: "renew",
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := renewed.Next(t.Context()); err != nil {
		t.Fatal(err)
	}
	if want := keygen.NewIdentity(testEK, tpm.incarnation, minter); renewed.Identity() != want {
		t.Errorf("renewed: identity %v, want %v", renewed.Identity(), want)
	}
	d.claim(t)
	again, err := d.journal.Compare(t.Context(), tpm, testEK, 1)
	if err != nil || again.Minter != minter {
		t.Errorf("minter %x, %v, want %x", again.Minter, err, minter)
	}
}

// TestWhatAnEpochRecordHolds reads the records of two epochs.
func TestWhatAnEpochRecordHolds(t *testing.T) {
	m, tpm := storetest.NewMemory(), newTPMAt(6)
	tpm.incarnation = [32]byte{0xab}
	d := started(t, m, keygen.ClassV, tpm)
	long := "x" + strings.Repeat("é", 200)
	c, err := d.journal.Counter(journal.CounterConfig{
		Class: keygen.ClassV, Standing: d.standing, Minter: [16]byte{0xcd}, Reason: "generation",
		Observe: func(context.Context) journal.Seen {
			return journal.Seen{Clock: 12, ResetCount: 3, RestartCount: 4, BootID: "b\xff", Verdict: long}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"epoch":8,"class":"v","identity":"%s","reason":"generation"`,
		`"epoch":9,"class":"v","identity":"%s","reason":"used-up"`,
	} {
		epoch, err := c.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		value, err := m.Get(t.Context(), fmt.Appendf(nil, "epoch/%s/%010x", c.Identity(), epoch))
		if err != nil {
			t.Fatal(err)
		}
		want = "{" + fmt.Sprintf(want, c.Identity()) +
			`,"claimed":"2026-03-04T05:06:07Z","minter":"cd` + strings.Repeat("0", 30) +
			`","ek":"ff785b5b91c7b8a2b76ebaee24fac603e01ee01e1c411744247a7ea112a6a5f2","incarnation":"ab` +
			strings.Repeat("0", 62) + fmt.Sprintf(`","counter":%d,`, epoch-1) +
			`"seen":{"clock":12,"reset_count":3,"restart_count":4,"boot_id":"b","verdict":"x` + strings.Repeat("é", 127) + `"}}`
		if string(value) != want {
			t.Errorf("epoch %d is recorded as\n%s, want\n%s", epoch, value, want)
		}
	}
}

// TestCounterConfig refuses what would break a promise.
func TestCounterConfig(t *testing.T) {
	d := started(t, storetest.NewMemory(), keygen.ClassH, newTPM())
	other := started(t, storetest.NewMemory(), keygen.ClassH, newTPM())
	minter := drawMinter()
	for name, c := range map[string]journal.CounterConfig{
		"class s":             {Class: keygen.ClassS, Minter: minter, Reason: "start"},
		"no class":            {Minter: minter, Reason: "start"},
		"h without a TPM":     {Class: keygen.ClassH, Minter: minter, Reason: "start"},
		"v without a TPM":     {Class: keygen.ClassV, Minter: minter, Reason: "start"},
		"j with a TPM":        {Class: keygen.ClassJ, Standing: d.standing, Minter: minter, Reason: "start"},
		"another journal":     {Class: keygen.ClassH, Standing: other.standing, Minter: minter, Reason: "start"},
		"no minter":           {Class: keygen.ClassH, Standing: d.standing, Reason: "start"},
		"no reason":           {Class: keygen.ClassH, Standing: d.standing, Minter: minter},
		"used-up":             {Class: keygen.ClassH, Standing: d.standing, Minter: minter, Reason: "used-up"},
		"a reason in capital": {Class: keygen.ClassH, Standing: d.standing, Minter: minter, Reason: "Start"},
		"a long reason":       {Class: keygen.ClassH, Standing: d.standing, Minter: minter, Reason: strings.Repeat("r", 33)},
	} {
		if _, err := d.journal.Counter(c); !errors.Is(err, keygen.ErrInvalid) {
			t.Errorf("%s: %v, want ErrInvalid", name, err)
		}
	}
}
