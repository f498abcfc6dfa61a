package journal_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/opmint/opmint/keygen"
	"github.com/opmint/opmint/store"
	"github.com/opmint/opmint/store/storetest"
)

// claimant collects the epochs of one state folder over its starts.
type claimant struct {
	*testing.T
	what    string // is being tried
	class   keygen.Class
	tpm     *fakeTPM
	highest uint64
}

func (c *claimant) start(m *storetest.Memory) (*daemon, error) {
	return start(c.Context(), m, c.class, c.tpm)
}

// claim claims an epoch, which must be above all before.
func (c *claimant) claim(d *daemon) error {
	epoch, err := d.counter.Next(c.Context())
	if err != nil {
		return err
	}
	if epoch <= c.highest {
		c.Errorf("%s: epoch %d after %d", c.what, epoch, c.highest)
	}
	c.highest = epoch
	return nil
}

// finish starts on m, which must work and show no sign of a rollback.
func (c *claimant) finish(m *storetest.Memory) {
	c.Helper()
	for range 2 {
		d, err := c.start(m)
		if err != nil {
			c.Fatalf("%s: %v", c.what, err)
		}
		for range 2 {
			if err := c.claim(d); err != nil {
				c.Fatalf("%s: %v", c.what, err)
			}
		}
		if got := whats(c, d.journal); got != nil || d.class != c.class {
			c.Errorf("%s: class %s, rollbacks %v", c.what, d.class, got)
		}
		m = m.Restart()
	}
}

var endings = map[string]func(*storetest.Memory) *storetest.Memory{
	"killed":   (*storetest.Memory).Restart,
	"powerOff": (*storetest.Memory).Crash,
}

// TestDaemonKilledMachineCrashesPowerLost lets each write of two starts with
// three claims each fail in each way, and ends the process there or later.
func TestDaemonKilledMachineCrashesPowerLost(t *testing.T) {
	for _, class := range classes {
		for n := 1; n <= writesOfALife(t, class); n++ {
			for _, fault := range storetest.Faults {
				for ending, end := range endings {
					what := fmt.Sprintf("class %s, write %d, %s, %s", class, n, fault, ending)
					c := &claimant{T: t, what: what, class: class, tpm: newTPM()}
					m := storetest.NewMemory()
					m.Fail(n, fault)
					c.life(m)
					m = end(m)
					c.life(m)
					c.finish(end(m))
				}
			}
		}
	}
}

// writesOfALife returns how many writes the first start with three claims takes.
func writesOfALife(t *testing.T, class keygen.Class) int {
	t.Helper()
	c := &claimant{T: t, what: "class " + class.String(), class: class, tpm: newTPM()}
	m := storetest.NewMemory()
	c.life(m)
	first := m.Commits()
	m = m.Restart()
	c.life(m)
	// One for a new journal, one for a new TPM, two a claim from a TPM, else one.
	want := map[keygen.Class][2]int{keygen.ClassH: {8, 6}, keygen.ClassV: {8, 6}, keygen.ClassJ: {4, 3}}[class]
	if got := [2]int{first, m.Commits()}; got != want {
		t.Errorf("class %s: two starts with three claims each take %v writes, want %v", class, got, want)
	}
	return first
}

// life is a start with three claims. Where one fails and the store goes on, it is
// tried again.
func (c *claimant) life(m *storetest.Memory) {
	c.Helper()
	d, err := c.start(m)
	if err != nil && !errors.Is(err, store.ErrOutcomeUnknown) {
		d, err = c.start(m)
	}
	for claims := 0; claims < 3 && err == nil; claims++ {
		if err = c.claim(d); errors.Is(err, storetest.ErrFault) && !errors.Is(err, store.ErrOutcomeUnknown) {
			err = c.claim(d)
		}
	}
	if err != nil && !errors.Is(err, store.ErrOutcomeUnknown) {
		c.Errorf("%s: %v", c.what, err)
	}
}

// TestTPMFailsInEveryWay lets a claim fail after each number of increments that it
// can have made, again and again, with and without an end of the process.
func TestTPMFailsInEveryWay(t *testing.T) {
	for _, class := range []keygen.Class{keygen.ClassH, keygen.ClassV} {
		for increments := range uint64(9) {
			for failures := range 4 {
				for restarts := range 2 {
					what := fmt.Sprintf("class %s, %d increments, %d failures, %d restarts", class, increments, failures, restarts)
					c := &claimant{T: t, what: what, class: class, tpm: newTPM()}
					m := storetest.NewMemory()
					for range 1 + restarts {
						c.fail(m, increments, failures)
						m = m.Crash()
					}
					c.finish(m)
				}
			}
		}
	}
}

// fail is a start with a claim and failures after it.
func (c *claimant) fail(m *storetest.Memory, increments uint64, failures int) {
	c.Helper()
	d, err := c.start(m)
	if err != nil {
		c.Fatalf("%s: %v", c.what, err)
	}
	if err := c.claim(d); err != nil {
		c.Fatalf("%s: %v", c.what, err)
	}
	for range failures {
		c.tpm.fault = loses(increments)
		if err := c.claim(d); !errors.Is(err, errTPM) {
			c.Fatalf("%s: %v, want the TPM's error", c.what, err)
		}
	}
}

// TestClaimThatOthersDelay has others increment up to the last try.
func TestClaimThatOthersDelay(t *testing.T) {
	for _, class := range []keygen.Class{keygen.ClassH, keygen.ClassV} {
		c := &claimant{T: t, what: "class " + class.String(), class: class, tpm: newTPM()}
		m := storetest.NewMemory()
		d, err := c.start(m)
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			c.tpm.fault = func(s *state) (uint64, error) {
				s.value += 1000
				return s.value, nil
			}
			if err := c.claim(d); err != nil {
				t.Fatal(err)
			}
		}
		c.finish(m.Crash())
	}
}
