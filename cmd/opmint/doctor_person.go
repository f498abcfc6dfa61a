package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// A person is a user, with groups.
type person struct {
	uid    int
	name   string // the number, where it has no name
	gids   []int
	groups []string
}

// whoAmI returns the user of this process, with the groups that it has now: those of
// the login, which those of today's group file may differ from.
func whoAmI() person {
	gids, err := os.Getgroups()
	if err != nil {
		gids = nil
	}
	gids = append(gids, os.Getegid())
	slices.Sort(gids)
	return newPerson(os.Geteuid(), slices.Compact(gids))
}

func newPerson(uid int, gids []int) person {
	p := person{uid: uid, name: strconv.Itoa(uid), gids: gids}
	if u, err := user.LookupId(p.name); err == nil {
		p.name = u.Username
	}
	for _, gid := range gids {
		p.groups = append(p.groups, groupName(gid))
	}
	return p
}

// lookUpPerson returns a user with the groups of the group file and some more by name.
func lookUpPerson(name string, more ...string) (*person, error) {
	u, err := user.Lookup(name)
	if err != nil {
		return nil, err
	}
	uid, err := strconv.Atoi(u.Uid)
	if err != nil {
		return nil, err
	}
	ids, err := u.GroupIds()
	if err != nil {
		return nil, err
	}
	for _, group := range more {
		if g, err := user.LookupGroup(group); err == nil {
			ids = append(ids, g.Gid)
		}
	}
	var gids []int
	for _, id := range ids {
		if gid, err := strconv.Atoi(id); err == nil {
			gids = append(gids, gid)
		}
	}
	p := newPerson(uid, gids)
	return &p, nil
}

func groupName(gid int) string {
	if g, err := user.LookupGroupId(strconv.Itoa(gid)); err == nil {
		return g.Name
	}
	return strconv.Itoa(gid)
}

func (p *person) String() string {
	return fmt.Sprintf("%s (uid %d, groups %s)", p.name, p.uid, strings.Join(p.groups, " "))
}

// A node is who may use a file: a device, a socket, a folder.
type node struct {
	path  string
	mode  fs.FileMode
	owner person // without groups
	gid   int
	group string
}

// lookAtNode returns nil where there is nothing, or nothing can be seen.
func lookAtNode(path string) (*node, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	stat, known := info.Sys().(*syscall.Stat_t)
	if !known {
		return nil, errors.ErrUnsupported
	}
	n := &node{path: path, mode: info.Mode(), gid: int(stat.Gid), group: groupName(int(stat.Gid))}
	n.owner = newPerson(int(stat.Uid), nil)
	return n, nil
}

func (n *node) String() string {
	return fmt.Sprintf("%s is %s:%s with mode %04o", n.path, n.owner.name, n.group, n.mode.Perm())
}

// lets reports whether p may read and write n.
func (n *node) lets(p *person) bool {
	switch mode := n.mode.Perm(); {
	case p.uid == 0:
		return true
	case p.uid == n.owner.uid:
		return mode&0o600 == 0o600
	case slices.Contains(p.gids, n.gid):
		return mode&0o060 == 0o060
	default:
		return mode&0o006 == 0o006
	}
}

// admit lets p use n: as a member of its group, if that is of any use.
func (f *facts) admit(p *person, n *node) string {
	if n.mode.Perm()&0o060 == 0o060 && n.gid != 0 {
		return f.asRoot() + "usermod --append --groups " + quote(n.group) + " " + quote(p.name)
	}
	return fmt.Sprintf("%schown %s %s", f.asRoot(), quote(p.name), quote(n.path))
}

// checkPermissions judges who may use the TPM: the user of the unit, else whoever asks.
func checkPermissions(f *facts) finding {
	n := f.tpm.node
	switch {
	case f.tpm.daemonUser != nil && n != nil && !n.lets(f.tpm.daemonUser):
		return failure(f.admit(f.tpm.daemonUser, n)+" && "+f.restart("TERM"),
			"the daemon runs as %v, who may not use the TPM: %v", f.tpm.daemonUser, n)
	case !errors.Is(f.tpm.err(), fs.ErrPermission):
		return f.mayUse(n)
	case f.daemon.answers() || f.unit.installed() && !f.unit.user:
		return finding{State: conditionNotChecked, Remedy: "sudo opmint doctor" + f.typed.daemon,
			Says: fmt.Sprintf("you are %v, who may not use the TPM, and need not: the daemon does; root sees more", &f.me)}
	case n == nil:
		return failure("sudo opmint doctor"+f.typed.daemon,
			"you are %v, who may not use %s: a folder above it is closed to you", &f.me, f.tpm.address)
	case n.mode.Perm()&0o060 == 0o060 && n.gid != 0:
		return failure(f.admit(&f.me, n),
			"you are %v, who may not use the TPM: %v; a new group counts from the next login on", &f.me, n)
	}
	return failure(f.admit(&f.me, n),
		"you are %v, who may not use the TPM: %v; for a device it holds until the next start", &f.me, n)
}

// mayUse tells who uses the TPM without trouble.
func (f *facts) mayUse(n *node) finding {
	switch {
	case n == nil:
		return good("you are %v", &f.me)
	case f.tpm.daemonUser != nil:
		return good("you are %v, the daemon runs as %s; %v", &f.me, f.tpm.daemonUser.name, n)
	}
	return good("you are %v; %v", &f.me, n)
}
