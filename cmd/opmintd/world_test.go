package main

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/opmint/opmint/keygen"
	"github.com/opmint/opmint/swtpm"
)

// A world is a machine in one class: a TPM, which class j does not use, and a
// state folder; and what it has minted and noticed.
type world struct {
	*rig
	class   keygen.Class
	names   *names
	noticed []string // what is wanted on record
	now     keygen.Class
}

// names are all that were minted, anywhere.
type names struct {
	mu         sync.Mutex
	seen       map[keygen.Name]bool
	identities map[keygen.Identity]int // how many starts had it
}

// classArgs make a software TPM be of a class.
var classArgs = map[keygen.Class][]string{
	keygen.ClassH: {"--assume", "physical"},
	keygen.ClassV: {"--assume", "virtual"},
	keygen.ClassJ: {"--tpm", "none"},
}

// eachClass runs a test in each class at once, in a new world.
func eachClass(t *testing.T, test func(t *testing.T, w *world)) {
	t.Parallel()
	for class := range classArgs {
		t.Run("class "+class.String(), func(t *testing.T) {
			t.Parallel()
			test(t, &world{rig: newRig(t), class: class, now: class, names: &names{
				seen: map[keygen.Name]bool{}, identities: map[keygen.Identity]int{},
			}})
		})
	}
}

// launch starts a daemon, which may end.
func (w *world) launch(more ...string) *process {
	args := append([]string{"--tpm", w.addr, "--state", w.state, "--socket", w.socket}, classArgs[w.class]...)
	p := launch(w.t, append(args, more...)...)
	p.client.Socket = w.socket
	return p
}

// up starts a daemon that has to mint.
func (w *world) up(more ...string) *process {
	w.t.Helper()
	p := w.launch(more...)
	if !p.logs("msg=started") {
		w.t.Fatalf("the daemon did not start:\n%s", p.output())
	}
	return p
}

// check mints, and fails the test if a name repeats, and if class, identity or
// record are not as they should be.
func (w *world) check(p *process, count int) {
	w.t.Helper()
	minted := p.mint(count)
	id := p.identity()
	w.names.mu.Lock()
	defer w.names.mu.Unlock()
	for _, n := range minted {
		if w.names.seen[n] {
			w.t.Errorf("%s was minted twice", n)
		}
		w.names.seen[n] = true
	}
	w.names.identities[id.Identity]++
	if w.now != keygen.ClassH && w.names.identities[id.Identity] > 1 {
		w.t.Errorf("identity %s has a second start", id.Identity)
	}
	if id.Class != w.now || minted[0].Class() != w.now {
		w.t.Errorf("class %s, and %s, want class %s:\n%s", id.Class, minted[0], w.now, p.output())
	}
	p.wantRollbacks(w.noticed...)
}

// run is a start that mints and ends.
func (w *world) run() {
	w.t.Helper()
	p := w.up()
	w.check(p, 20)
	p.stop()
}

// notices says what is to be on record from now on: in classes h and v, since
// without a TPM nothing can be noticed.
func (w *world) notices(what string) {
	if w.class != keygen.ClassJ {
		w.noticed = append(w.noticed, what)
	}
	if what == "tpm" && w.class == keygen.ClassH {
		w.now = keygen.ClassV
	}
}

// copyOf is another world with a copy of the state folder, on the same TPM.
func (w *world) copyOf() *world {
	w.t.Helper()
	c := *w
	c.rig = w.another()
	c.copyState(w.rig)
	return &c
}

// cloneOf is another world with copies of both.
func (w *world) cloneOf() *world {
	w.t.Helper()
	c := w.copyOf()
	dir := filepath.Join(w.t.TempDir(), "clone")
	must(w.t, w.tpm.Snapshot(dir))
	var err error
	c.tpm, err = swtpm.Start(dir)
	must(w.t, err)
	w.t.Cleanup(func() { must(w.t, c.tpm.Stop()) })
	c.addr = c.tpm.Addr()
	return c
}

// A past is a copy of TPM and state folder.
type past struct {
	tpm    string
	folder *rig
}

// remember makes a copy to which the world can go back.
func (w *world) remember() past {
	w.t.Helper()
	p := past{filepath.Join(w.t.TempDir(), "tpm"), w.another()}
	must(w.t, w.tpm.Snapshot(p.tpm))
	p.folder.copyState(w.rig)
	return p
}

func (w *world) rollBackTPM(p past) {
	w.t.Helper()
	must(w.t, w.tpm.Rewind(p.tpm))
}

func (w *world) rollBackFolder(p past) { w.copyState(p.folder) }

func (w *world) loseTPM() {
	w.tpm = swtpm.StartTest(w.t)
	w.addr = w.tpm.Addr()
}

// loseJournal loses the state folder but for what opens the index. Without that
// the index is not ours any more.
func (w *world) loseJournal() {
	w.t.Helper()
	for _, name := range []string{"journal", "journal.created"} {
		must(w.t, os.Remove(filepath.Join(w.state, name)))
	}
}

// loseFolder loses all of it.
func (w *world) loseFolder() {
	w.t.Helper()
	must(w.t, os.RemoveAll(w.state))
}

// renewIndex is what `opmint provision --new-index` does.
func (w *world) renewIndex() {
	w.t.Helper()
	must(w.t, os.MkdirAll(w.state, 0o700))
	c := w.counter()
	must(w.t, c.Undefine(w.t.Context()))
	must(w.t, c.Define(w.t.Context()))
	if w.now != w.class {
		w.now = w.class
	}
}
