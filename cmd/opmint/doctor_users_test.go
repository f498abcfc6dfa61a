package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/google/go-tpm/tpm2"
)

// nobody has nothing, and is in no group but its own.
func nobody() *syscall.Credential { return &syscall.Credential{Uid: 65534, Gid: 65534} }

// userTroubles are those of one user with what is another's. They do not touch the
// machine's users: what stands in for usermod keeps who shall be in which group, and the
// next login is made accordingly.
var userTroubles = []trouble{
	{name: "TPM of another", check: "permissions", says: "who may not use the TPM", make: func(w *ward) {
		must(w.t, os.Chmod(filepath.Dir(w.tpmPath()), 0o755))
		must(w.t, os.Chmod(w.tpmPath(), 0o600))
		w.someone = nobody()
	}},
	{name: "TPM of a group", check: "permissions", says: "a new group counts from the next login on",
		make: func(w *ward) {
			must(w.t, os.Chmod(filepath.Dir(w.tpmPath()), 0o755))
			must(w.t, os.Chown(w.tpmPath(), -1, 2))
			must(w.t, os.Chmod(w.tpmPath(), 0o660))
			w.someone = nobody()
			w.usermod("bin")
		}, then: func(w *ward) { w.login(2) }},
	{name: "TPM closed to the daemon", check: "permissions", says: "the daemon runs as nobody", make: func(w *ward) {
		must(w.t, os.Chown(w.tpmPath(), -1, 2))
		must(w.t, os.Chmod(w.tpmPath(), 0o660))
		w.tool("usermod", `[ "$*" = '--append --groups bin nobody' ] && touch $HERE/member`)
		w.tool("systemctl", `
[ "$*" = 'restart opmintd.service' ] && exit
[ -e $HERE/member ] && more=bin
printf 'Id=opmintd.service\nLoadState=loaded\nActiveState=active\nUnitFileState=enabled\nUser=nobody\nSupplementaryGroups=%s\n' $more`)
	}},
	{name: "owner's password, for another user", check: "index", says: "the TPM's owner has a password",
		make: func(w *ward) {
			order(w, tpm2.HierarchyChangeAuth{
				AuthHandle: tpm2.TPMRHOwner, NewAuth: tpm2.TPM2BAuth{Buffer: []byte("secret")},
			})
			must(w.t, os.Chmod(filepath.Dir(w.tpmPath()), 0o755))
			must(w.t, os.Chmod(w.tpmPath(), 0o666))
			must(w.t, os.Mkdir(w.state, 0o700))
			must(w.t, os.Chown(w.state, 65534, 65534))
			w.stdin = "secret\n"
		}},
	{name: "of another", check: "state", says: "and the daemon runs as root", make: func(w *ward) {
		w.once()
		must(w.t, os.Chown(w.state, 65534, -1))
	}},
	{name: "not a member", check: "group", says: "join its group, which counts from the next login on",
		make: func(w *ward) {
			w.daemon()
			must(w.t, os.Chown(w.socket, -1, 2))
			must(w.t, os.Chmod(w.socket, 0o660))
			w.someone = nobody()
			w.usermod("bin")
		}, then: func(w *ward) { w.login(2) }},
}

// tpmPath is the path of the TPM's socket.
func (w *ward) tpmPath() string { return strings.TrimPrefix(w.addr, "unix:") }

// usermod stands in for the program that makes nobody a member of a group.
func (w *ward) usermod(group string) {
	w.tool("usermod", `[ "$*" = '--append --groups `+group+` nobody' ] && touch $HERE/member`)
}

// login gives who runs doctor the group that usermod was told of.
func (w *ward) login(gid uint32) {
	w.t.Helper()
	_, err := os.Stat(filepath.Join(w.dir, "member"))
	must(w.t, err)
	w.someone.Groups = []uint32{gid}
}
