package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/google/go-tpm/tpm2"
	"go.etcd.io/bbolt"
	"golang.org/x/sys/unix"
)

// A trouble is something that doctor calls a failure.
type trouble struct {
	name  string
	make  func(*ward)          // makes the trouble
	check string               // that fails
	says  string               // part of what it says
	fill  func(*ward, finding) // what the operator knows; may be nil
	then  func(*ward)          // what is different after the remedy; may be nil
}

// cure makes the trouble, for real, types the remedy as it is printed, and then wants
// doctor to be content. Where a remedy needs systemd, a package, another login or the
// machine's next start, a script in the place of that one program does what the program
// would have done.
func (c *trouble) cure(w *ward) {
	w.t.Helper()
	c.make(w)
	found := w.wants(c.check, conditionFailure, c.says)
	if c.fill != nil {
		c.fill(w, found)
	}
	w.follow(found.Remedy)
	if c.then != nil {
		c.then(w)
	}
	w.wants(c.check, conditionOK, "")
}

var indexTroubles = []trouble{
	{name: "secret lost", check: "index", says: "is lost or another's", make: func(w *ward) {
		w.run("opmint provision --tpm " + w.addr + " --state " + w.state)
		must(w.t, os.Remove(filepath.Join(w.state, "index.auth")))
	}},
	{name: "secret of another", check: "index", says: "is lost or another's", make: func(w *ward) {
		w.run("opmint provision --tpm " + w.addr + " --state " + w.state)
		must(w.t, os.WriteFile(filepath.Join(w.state, "index.auth"), bytes.Repeat([]byte{7}, 32), 0o600))
	}},
	{name: "stranger", check: "index", says: "ordinary memory of 8 bytes", make: func(w *ward) {
		order(w, defineOrdinary(0x01901d01))
	}, then: func(w *ward) { w.flags = []string{"--nv-index", "0x01901d02"} }},
	{name: "owner's password", check: "index", says: "the TPM's owner has a password", make: func(w *ward) {
		order(w, tpm2.HierarchyChangeAuth{
			AuthHandle: tpm2.TPMRHOwner, NewAuth: tpm2.TPM2BAuth{Buffer: []byte("secret")},
		})
		w.stdin = "secret\n"
	}},
	{name: "deleted under a daemon", check: "index", says: "somebody deleted its counter", make: func(w *ward) {
		w.daemon()
		name := order(w, tpm2.NVReadPublic{NVIndex: tpm2.TPMHandle(0x01901d01)}).NVName
		order(w, tpm2.NVUndefineSpace{
			AuthHandle: tpm2.TPMRHOwner, NVIndex: tpm2.NamedHandle{Handle: tpm2.TPMHandle(0x01901d01), Name: name},
		})
	}},
	{name: "no room", check: "nv", says: "with room for 0 more", make: func(w *ward) {
		var full error
		for handle := tpm2.TPMHandle(0x01800000); full == nil; handle++ {
			_, full = askAt(w.tpm.Addr(), defineCounterAt(handle))
		}
	}, fill: func(w *ward, f finding) {
		_, list, _ := strings.Cut(f.Says, "nobody needs, of ")
		w.fill["INDEX"], _, _ = strings.Cut(list, " ")
	}},
}

// order has the ward's TPM do something, which has to succeed.
func order[R any, PR *R](w *ward, cmd tpm2.Command[R, PR]) PR {
	w.t.Helper()
	rsp, err := askAt(w.tpm.Addr(), cmd)
	if err != nil {
		w.t.Fatalf("%T: %v", cmd, err)
	}
	return rsp
}

// defineOrdinary and defineCounterAt make indexes that are none of opmint's.
func defineOrdinary(handle tpm2.TPMHandle) tpm2.NVDefineSpace {
	return tpm2.NVDefineSpace{AuthHandle: tpm2.TPMRHOwner, PublicInfo: tpm2.New2B(tpm2.TPMSNVPublic{
		NVIndex: handle, NameAlg: tpm2.TPMAlgSHA256, DataSize: 8,
		Attributes: tpm2.TPMANV{OwnerRead: true, OwnerWrite: true, NoDA: true},
	})}
}

func defineCounterAt(handle tpm2.TPMHandle) tpm2.NVDefineSpace {
	return tpm2.NVDefineSpace{AuthHandle: tpm2.TPMRHOwner, PublicInfo: tpm2.New2B(tpm2.TPMSNVPublic{
		NVIndex: handle, NameAlg: tpm2.TPMAlgSHA256, DataSize: 8,
		Attributes: tpm2.TPMANV{NT: tpm2.TPMNTCounter, OwnerRead: true, OwnerWrite: true, NoDA: true},
	})}
}

var formatTroubles = []trouble{
	{name: "lost", check: "format", says: "the journal is lost", make: func(w *ward) {
		w.once()
		must(w.t, os.Remove(w.journal()))
	}},
	{name: "damaged", check: "format", says: "store is damaged", make: func(w *ward) {
		w.once()
		must(w.t, os.Truncate(w.journal(), 5000))
	}},
	{name: "open to others", check: "format", says: "mode 0644 lets others in", make: func(w *ward) {
		w.once()
		must(w.t, os.Chmod(w.journal(), 0o644))
	}},
	{name: "no file", check: "format", says: "not a regular file", make: func(w *ward) {
		must(w.t, os.MkdirAll(w.journal(), 0o700))
		must(w.t, os.Chmod(w.state, 0o700))
	}},
	// No program knows the next format yet: what installs one puts back the journal as
	// it was.
	{name: "newer", check: "format", says: "version 2, and this program knows 1", make: func(w *ward) {
		w.once()
		w.tool("apt-get", `[ "$*" = 'install opmint' ] && cp $HERE/old $HERE/state/journal`)
		data, err := os.ReadFile(w.journal())
		must(w.t, err)
		must(w.t, os.WriteFile(filepath.Join(w.dir, "old"), data, 0o600))
		db, err := bbolt.Open(w.journal(), 0o600, nil)
		must(w.t, err)
		must(w.t, db.Update(func(tx *bbolt.Tx) error {
			key, value := []byte("opmint"), []byte("2 journal")
			table := crc32.MakeTable(crc32.Castagnoli)
			// As package store describes it.
			sum := crc32.Update(crc32.Update(uint32(len(key)), table, key), table, value)
			return tx.Bucket([]byte("format")).Put(key, append(binary.BigEndian.AppendUint32(nil, sum), value...))
		}))
		must(w.t, db.Close())
	}},
}

func (w *ward) journal() string { return filepath.Join(w.state, "journal") }

var socketTroubles = []trouble{
	{name: "no daemon", check: "socket", says: "no daemon runs", make: func(*ward) {}},
	{name: "no socket", check: "socket", says: "is no socket: move it away", make: func(w *ward) {
		must(w.t, os.WriteFile(w.socket, nil, 0o600))
	}},
	{name: "dead", check: "socket", says: "is dead", make: func(w *ward) {
		l, err := net.ListenUnix("unix", &net.UnixAddr{Name: w.socket, Net: "unix"})
		must(w.t, err)
		l.SetUnlinkOnClose(false)
		must(w.t, l.Close())
	}},
	{name: "open to all", check: "group", says: "every user of the machine can take names", make: func(w *ward) {
		w.daemon()
		must(w.t, os.Chmod(w.socket, 0o666))
	}},
	{name: "stuck", check: "daemon", says: "it says nothing for 10s", make: func(w *ward) {
		daemon := w.daemon().cmd.Process
		must(w.t, daemon.Signal(syscall.SIGSTOP))
		// Until the last of its threads has stopped, it answers.
		must(w.t, unix.Waitid(unix.P_PID, daemon.Pid, nil, unix.WSTOPPED, nil))
	}},
	{name: "cannot mint", check: "daemon", says: "it cannot mint", make: func(w *ward) {
		w.daemon("--names-per-epoch", "1")
		w.run("opmint mint --socket " + w.socket)
		w.tpm.Kill()
	}, fill: func(w *ward, _ finding) { must(w.t, w.tpm.Restart()) }},
	{name: "another program", check: "daemon", says: "is no opmintd", make: func(w *ward) {
		l, err := net.Listen("unix", w.socket)
		must(w.t, err)
		w.t.Cleanup(func() { l.Close() })
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				fmt.Fprintln(c, "220 mail.example ESMTP")
				c.Close()
			}
		}()
	}, fill: func(w *ward, _ finding) {
		w.fill["PATH"] = filepath.Join(w.dir, "other")
	}, then: func(w *ward) { w.socket = w.fill["PATH"] }},
}
