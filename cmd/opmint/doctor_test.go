package main

import (
	"bytes"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-tpm/tpm2"
)

// TestDoctor runs the programs as they are built.
func TestDoctor(t *testing.T) {
	bin := buildPrograms(t)
	for name, test := range map[string]func(*testing.T, *ward){
		"disturbs nobody": doctorDisturbsNobody, "changes nothing": doctorChangesNothing, "wakes nobody": doctorWakesNobody,
		"lockout": lockoutIsCured, "no driver": driverIsMissing,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, newWard(t, bin))
		})
	}
	all := [][]trouble{tpmTroubles, indexTroubles, stateTroubles, formatTroubles, socketTroubles, unitTroubles}
	if os.Geteuid() == 0 { // else nobody can become, or give away to, another user
		all = append(all, userTroubles)
	}
	for _, c := range slices.Concat(all...) {
		t.Run(c.check+"/"+c.name, func(t *testing.T) {
			t.Parallel()
			c.cure(newWard(t, bin))
		})
	}
}

// doctorDisturbsNobody: beside a daemon that claims an epoch for each name, on a TPM
// that serves one connection at a time, doctor sees all, and no claim fails.
func doctorDisturbsNobody(t *testing.T, w *ward) {
	w.daemon("--names-per-epoch", "1")
	minting := w.begin("for i in 1 2 3 4 5 6 7 8; do opmint mint -n 8 --socket " + w.socket + " || exit; done")
	for range 3 {
		for _, check := range []string{"device", "index", "daemon", "format", "class"} {
			w.wants(check, conditionOK, "")
		}
	}
	names, err := io.ReadAll(minting.out)
	must(t, err)
	<-minting.ended
	if n := bytes.Count(names, []byte("\n")); minting.err != nil || n != 64 {
		t.Errorf("minted %d names of 64: %v\n%s", n, minting.err, names)
	}
}

// doctorChangesNothing: neither in the TPM nor in the state folder.
func doctorChangesNothing(t *testing.T, w *ward) {
	w.once()
	before, seen := w.files(), w.wants("index", conditionOK, "the counter shows")
	if again := w.wants("index", conditionOK, ""); again != seen {
		t.Errorf("%+v, and before %+v", again, seen)
	}
	for name, data := range w.files() {
		if !bytes.Equal(data, before[name]) {
			t.Errorf("%s has changed", name)
		}
		delete(before, name)
	}
	if len(before) > 0 {
		t.Errorf("gone are %v", before)
	}
}

// files reads the state folder.
func (w *ward) files() map[string][]byte {
	w.t.Helper()
	entries, err := os.ReadDir(w.state)
	must(w.t, err)
	files := map[string][]byte{}
	for _, e := range entries {
		files[e.Name()], err = os.ReadFile(filepath.Join(w.state, e.Name()))
		must(w.t, err)
	}
	return files
}

// doctorWakesNobody: where systemd listens, a connection would start the daemon, and
// so cost a write to the TPM.
func doctorWakesNobody(t *testing.T, w *ward) {
	w.systemd("inactive success 0 disabled loaded", "active success 0 enabled loaded")
	l, err := net.Listen("unix", w.socket)
	must(t, err)
	defer l.Close()
	for _, check := range []string{"unit", "socket"} {
		w.wants(check, conditionOK, "with the first request")
	}
	ours, err := net.Dial("unix", w.socket)
	must(t, err)
	defer ours.Close()
	first, err := l.Accept()
	must(t, err)
	defer first.Close()
	_, err = ours.Write([]byte("ours"))
	must(t, err)
	if got, err := io.ReadAll(io.LimitReader(first, 4)); string(got) != "ours" {
		t.Errorf("somebody has connected before: %q, %v", got, err)
	}
}

// lockoutIsCured locks the TPM's protection against guessing, which is a warning, and
// types the remedy.
func lockoutIsCured(t *testing.T, w *ward) {
	const handle = tpm2.TPMHandle(0x01800000)
	order(w, tpm2.NVDefineSpace{
		AuthHandle: tpm2.TPMRHOwner, Auth: tpm2.TPM2BAuth{Buffer: []byte("right")},
		PublicInfo: tpm2.New2B(tpm2.TPMSNVPublic{
			NVIndex: handle, NameAlg: tpm2.TPMAlgSHA256, DataSize: 8, Attributes: tpm2.TPMANV{AuthRead: true, AuthWrite: true},
		}),
	})
	name := order(w, tpm2.NVReadPublic{NVIndex: handle}).NVName
	for range 3 {
		guess := tpm2.AuthHandle{Handle: handle, Name: name, Auth: tpm2.PasswordAuth([]byte("wrong"))}
		if _, err := askAt(w.addr, tpm2.NVWrite{AuthHandle: guess, NVIndex: guess}); err == nil {
			t.Fatal("a wrong guess was right")
		}
	}
	w.follow(w.wants("lockout", conditionWarning, "after 3 wrong authorizations").Remedy)
	w.wants("lockout", conditionOK, "0 of 3 wrong authorizations")
}

// driverIsMissing: where the kernel has no driver for the TPM, its remedy asks for
// those there are. What follows takes a machine with a TPM.
func driverIsMissing(t *testing.T, w *ward) {
	w.tool("modprobe", `[ "$*" = '-a tpm_crb tpm_tis' ] && touch $HERE/asked`)
	w.addr = "auto"
	w.enter("mount -t tmpfs none /dev && touch /dev/tpm0 /dev/null")
	found := w.wants("device", conditionFailure, "/dev/tpm0 is there, and no /dev/tpmrm0 that can be shared")
	w.follow(found.Remedy)
	if _, err := os.Stat(filepath.Join(w.dir, "asked")); err != nil {
		t.Errorf("%s asked for no drivers", found.Remedy)
	}
}
