package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/opmint/opmint/store"
)

const (
	// littleRoom and noRoom are bytes free on the state folder's disk: a journal has
	// a few megabytes, and a commit needs some pages of it.
	littleRoom = 16 << 20
	noRoom     = 1 << 20
)

// stateFacts is what is seen of the state folder.
type stateFacts struct {
	dir    string
	err    error // why there is nothing more
	node   *node
	owner  *person // of the folder; nil if there is none
	disk   disk
	sync   error // what making it durable ends with
	format int   // version of the journal's; 0 if not known
	unread error // why format is not known
	file   *node // the journal; nil if it is not to be seen
}

// disk is the file system of a folder.
type disk struct {
	err      error  // why nothing is known
	kind     string // where its kind matters: "tmpfs", "nfs"; else empty
	readOnly bool
	free     uint64 // bytes, for users that are not root
}

// lookAtState looks and changes nothing, but that what is cached is written out.
func lookAtState(dir string) stateFacts {
	s := stateFacts{dir: dir}
	s.node, s.err = lookAtNode(dir)
	if s.err != nil {
		return s
	}
	s.owner = &s.node.owner
	s.disk = lookAtDisk(dir)
	folder, err := os.Open(dir)
	if err != nil {
		s.unread = err
		return s
	}
	s.sync = errors.Join(folder.Sync(), folder.Close())
	s.file, _ = lookAtNode(s.journal())
	s.format, s.unread = store.Look(s.journal(), store.Journal)
	return s
}

func (s *stateFacts) journal() string { return filepath.Join(s.dir, "journal") }

// checkState judges the state folder.
func checkState(f *facts) finding {
	s, dir := &f.state, quote(f.state.dir)
	switch {
	case errors.Is(s.err, fs.ErrNotExist) && f.daemon.answers():
		return warning("opmint doctor --state DIR", "%s is not there, and a daemon runs: say where it has its state", s.dir)
	case errors.Is(s.err, fs.ErrNotExist):
		return good("%s is not there yet; the daemon makes it when it starts", s.dir)
	case errors.Is(s.err, fs.ErrPermission):
		return notChecked("%s: a folder above it is closed to you", s.dir)
	case s.err != nil:
		return notChecked("%v", s.err)
	case !s.node.mode.IsDir():
		return failure(fmt.Sprintf("%smv %s %[2]s.aside", f.asRoot(), dir), "%s is no folder: move it away", s.dir)
	case s.node.mode.Perm()&0o077 != 0:
		return failure(fmt.Sprintf("%schmod 700 %s", f.asOwner(), dir), "%v: other users can read its secrets", s.node)
	}
	if wrong := f.wrongOwner(); wrong != nil {
		return *wrong
	}
	return f.checkDisk()
}

// asOwner is what stands before a command that is the state folder's owner's.
func (f *facts) asOwner() string {
	if f.state.owner != nil && f.state.owner.uid == f.me.uid {
		return ""
	}
	return f.asRoot()
}

// wrongOwner judges whose the folder is: that of the unit's user, else of whoever asks.
func (f *facts) wrongOwner() *finding {
	want := f.tpm.daemonUser
	if want == nil {
		want = &f.me
	}
	found := finding{}
	switch s := &f.state; {
	case s.owner.uid == want.uid:
		return nil
	case f.tpm.daemonUser == nil && f.me.uid != 0:
		found = notChecked("%v: run this as its owner, or root", s.node)
	default:
		found = failure(fmt.Sprintf("%schown -R %s %s", f.asRoot(), quote(want.name), quote(s.dir)),
			"%v, and the daemon runs as %s", s.node, want.name)
	}
	return &found
}

func (f *facts) checkDisk() finding {
	s, d := &f.state, &f.state.disk
	dir := quote(s.dir)
	switch {
	case d.err != nil:
		return notChecked("%s: its disk: %v", s.dir, d.err)
	case d.readOnly:
		return failure(fmt.Sprintf("%smount -o remount,rw \"$(findmnt -n -o TARGET --target %s)\"", f.asRoot(), dir),
			"%s cannot be written: its file system is read-only", s.dir)
	case s.sync != nil:
		return failure(f.elsewhere("state", "DIR"),
			"%s: what is written there cannot be made durable (%v): keep the state in another folder", s.dir, s.sync)
	case d.free < noRoom:
		return failure(f.asRoot()+"journalctl --vacuum-size=100M", "%s: its disk is full: make room, for example so", s.dir)
	case d.free < littleRoom:
		return warning(f.asRoot()+"journalctl --vacuum-size=100M",
			"%s: its disk has only %d MB left: make room, for example so", s.dir, d.free>>20)
	case d.kind == "tmpfs":
		return warning(f.elsewhere("state", "DIR"),
			"%s is in memory only, and is gone with the machine's next start, with the counter's secret", s.dir)
	case d.kind != "":
		return warning(f.elsewhere("state", "DIR"),
			"%s is on %s, where locks and durable writes are not certain", s.dir, d.kind)
	}
	return good("%v; %d MB free", s.node, d.free>>20)
}

// beginEmpty says what it means to do without the journal.
const beginEmpty = "begin an empty one: names do not repeat but for chance, and what was named before is forgotten"

// checkFormat judges the journal in the state folder.
func checkFormat(f *facts) finding {
	s, path := &f.state, quote(f.state.journal())
	as := f.asOwner()
	switch {
	case s.err != nil:
		return notChecked("no state folder to be seen")
	case s.unread == nil:
		return good("the journal is whole, in format %d, which this version reads", s.format)
	case errors.Is(s.unread, store.ErrInUse):
		return good("a daemon has the journal open, and so can read its format")
	case errors.Is(s.unread, store.ErrNewer):
		return failure(f.install(), "%v", s.unread)
	case errors.Is(s.unread, store.ErrLost):
		return failure(fmt.Sprintf("%srm %s.created", as, path),
			"the journal is lost: put a backup in its place, or %s", beginEmpty)
	case errors.Is(s.unread, store.ErrDamaged):
		return failure(fmt.Sprintf("%smv %s %[2]s.damaged && %[1]srm -f %[2]s.created", as, path),
			"%v: put a backup in its place, or %s", s.unread, beginEmpty)
	case errors.Is(s.unread, store.ErrForeign) && s.strange():
		return failure(fmt.Sprintf("%smv %s %[2]s.aside", as, path), "%v: move it away", s.unread)
	case errors.Is(s.unread, store.ErrForeign):
		return failure(fmt.Sprintf("%[1]schown --reference=%[3]s %[2]s && %[1]schmod 600 %[2]s", as, path, quote(s.dir)),
			"%v: if it is the journal all the same, make it the daemon's", s.unread)
	case errors.Is(s.unread, fs.ErrNotExist):
		return good("no journal yet")
	case errors.Is(s.unread, fs.ErrPermission):
		return notChecked("%s is closed to you: run this as its owner, or root", s.dir)
	}
	return notChecked("%v", s.unread)
}

// strange reports whether what is in the journal's place is not merely open to others.
func (s *stateFacts) strange() bool {
	return !s.file.mode.IsRegular() || s.file.owner.uid == s.owner.uid && s.file.mode.Perm()&^0o600 == 0
}
