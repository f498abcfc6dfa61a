//go:build vm

package vmtest

import (
	"bytes"
	"fmt"
	"strconv"
	"sync"
	"testing"

	"github.com/opmint/opmint/keygen"
)

// batch is how many names are minted at a time.
const batch = 1000

// minted are all the names that came out of machines, whichever and whenever.
var minted names

type names struct {
	mu   sync.Mutex
	seen map[keygen.Name]string // with what is told of each if it comes again
}

// add notes names, one a line. The end of a line that the power cut is no name.
func (n *names) add(t *testing.T, lines []byte, when string) []keygen.Name {
	t.Helper()
	when = fmt.Sprintf("%s, %s", t.Name(), when)
	var added []keygen.Name
	for line := range bytes.Lines(lines) {
		text, whole := bytes.CutSuffix(line, []byte("\n"))
		if !whole {
			break
		}
		name, err := keygen.Parse(string(text))
		if err != nil {
			t.Fatalf("%s: %q: %v", when, text, err)
		}
		if name.Class() != keygen.ClassV {
			t.Fatalf("%s: %s is of class %s, want v", when, name, name.Class())
		}
		added = append(added, name)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.seen == nil {
		n.seen = map[keygen.Name]string{}
	}
	for _, name := range added {
		if before, ok := n.seen[name]; ok {
			t.Fatalf("%s: %s was minted before: %s", when, name, before)
		}
		n.seen[name] = when
	}
	return added
}

// startDaemon boots the machine and starts the daemon in it.
func startDaemon(t *testing.T, m *Machine) *VM {
	t.Helper()
	vm := boot(t, m)
	call[struct{}](t, vm, "opmintd", struct{}{})
	return vm
}

// mint has the guest's daemon mint a batch, and returns its first name.
func mint(t *testing.T, vm *VM, when string) keygen.Name {
	t.Helper()
	added := minted.add(t, opmint(t, vm, "mint", "-n", strconv.Itoa(batch)), when)
	if len(added) != batch {
		t.Fatalf("%s: %d names, want %d", when, len(added), batch)
	}
	return added[0]
}

// number is what two histories of one machine give two names alike, and all of a name but its tag.
type number struct {
	identity   keygen.Identity
	epoch, seq uint64
}

func numberOf(n keygen.Name) number { return number{n.Identity(), n.Epoch(), n.Seq()} }
