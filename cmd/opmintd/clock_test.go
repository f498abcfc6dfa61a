package main

import (
	"testing"

	"github.com/opmint/opmint/keygen"
)

// The clock set back, forward, or wrong: no effect on names. Each start lives at
// another time since boot; what a step does while the daemon runs is TestClockSet.
func TestPromiseClock(t *testing.T) {
	eachClass(t, func(t *testing.T, w *world) {
		const hour, years = "3600", "946080000"
		last := ""
		for _, offset := range []string{hour, years, "0", hour} {
			args := append([]string{
				"-rT", "--boottime", offset, "--monotonic", offset, w.opmintd(),
				"--tpm", w.addr, "--state", w.state, "--socket", w.socket,
			}, classArgs[w.class]...)
			p := newProgram(t, "unshare", args...)
			p.launch()
			p.client.Socket = w.socket
			if !p.logs("msg=started") {
				t.Fatalf("the daemon did not start:\n%s", p.output())
			}
			w.check(p, 20)
			// The names of one identity sort in mint order.
			for _, n := range p.mint(20) {
				if w.class == keygen.ClassH && n.String() <= last {
					t.Errorf("%s follows %s", n, last)
				}
				last = n.String()
			}
			p.stop()
		}
	})
}
