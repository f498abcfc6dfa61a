package main

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-tpm/tpm2"

	"github.com/opmint/opmint/tpm"
)

// checkUntouched fails the test if there is an index in the TPM.
func (r *rig) checkUntouched() {
	r.t.Helper()
	status, err := r.counter().Status(r.t.Context())
	if err != nil || status.State != tpm.Absent {
		r.t.Errorf("the index is %v, %v", status.State, err)
	}
}

// TestRefusedStarts has starts that cannot be: each says why, and costs the TPM
// nothing.
func TestRefusedStarts(t *testing.T) {
	r := newRig(t)
	p := r.start()
	used := r.value()
	free := r.another()
	free.copyState(r)
	open := filepath.Join(t.TempDir(), "open")
	must(t, os.Mkdir(open, 0o700))
	must(t, os.Chmod(open, 0o750))
	file := filepath.Join(t.TempDir(), "file")
	writeFile(t, file, nil)
	for _, c := range []struct {
		name string
		at   *rig
		args []string
		code int
		says string
	}{
		{"state folder in use", r, []string{"--socket", free.socket}, exitTryAgain, "another daemon uses it"},
		{"state folder open", free, []string{"--state", open}, exitError, "(mode 0750): chmod 700 " + open},
		{"state folder a file", free, []string{"--state", file}, exitError, "it is not a folder"},
		{"state folder that cannot be made", free, []string{"--state", "/proc/nothing"}, exitError, "make the state folder"},
		{"socket in use", free, []string{"--socket", r.socket}, exitTryAgain, "another daemon is listening there"},
		{"no socket", free, []string{"--socket", file}, exitError, "there is something that is no socket"},
		{"socket without a folder", free, []string{"--socket", "/proc/nothing/sock"}, exitError, "make its folder"},
		{"socket too long", free, []string{"--socket", "/" + strings.Repeat("x", 107)}, exitError, "say a shorter one"},
		{"no TPM", free, []string{"--tpm", "/dev/nothing"}, exitError, "is the TPM enabled"},
		{"no TPM on a socket", free, []string{"--tpm", "unix:/nothing"}, exitError, "is the software TPM running"},
		{"no authorization", free, []string{"--owner-auth-file", "/nothing"}, exitError, "open /nothing"},
		{"empty authorization", free, []string{"--endorsement-auth-file", file}, exitError, "is empty"},
		{"wrong authorization", free, []string{"--endorsement-auth-file", secret(t, "x")}, exitRefused, "wrong endorsement"},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.at.t = t
			c.at.refused(c.code, c.says, c.args...)
			if v := c.at.value(); v != used {
				t.Errorf("it cost %d writes", v-used)
			}
		})
	}
	r.t = t
	p.mint(1)
	p.stop()
}

// secret returns a file with an authorization value.
func secret(t *testing.T, value string) string {
	path := filepath.Join(t.TempDir(), "auth")
	writeFile(t, path, []byte(value+"\n"))
	return path
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestStaleSocket starts where a killed daemon has left its socket, and where
// there is not even a folder.
func TestStaleSocket(t *testing.T) {
	r := newRig(t)
	r.socket = filepath.Join(t.TempDir(), "new", "folder", "sock")
	r.start().kill()
	if _, err := os.Lstat(r.socket); err != nil {
		t.Fatal(err)
	}
	p := r.start()
	p.mint(1)
	p.stop()
}

// TestForeignSocket leaves alone a socket on which another program listens.
func TestForeignSocket(t *testing.T) {
	r := newRig(t)
	must(t, os.MkdirAll(filepath.Dir(r.socket), 0o700))
	l, err := net.Listen("unix", r.socket)
	must(t, err)
	defer l.Close()
	r.refused(exitTryAgain, "another daemon is listening there: stop it, or say another path with --socket")
	r.checkUntouched()
}

// TestOwnerAuthorization has a TPM whose owner has an authorization value.
func TestOwnerAuthorization(t *testing.T) {
	r := newRig(t)
	ask(r, tpm2.HierarchyChangeAuth{AuthHandle: tpm2.TPMRHOwner, NewAuth: tpm2.TPM2BAuth{Buffer: []byte("hunter2")}})
	r.refused(exitRefused, "opmint provision")
	r.refused(exitRefused, "wrong owner authorization", "--owner-auth-file", secret(t, "hunter3"))
	r.checkUntouched()
	p := r.start("--owner-auth-file", secret(t, "hunter2"))
	p.stop()
	if strings.Contains(p.output(), "hunter") {
		t.Errorf("the log has the authorization value:\n%s", p.output())
	}
	// Once the index is there, nobody needs it.
	p = r.start()
	p.mint(1)
	p.stop()
}

// TestEndorsementAuthorization has a TPM whose endorsement hierarchy has one.
func TestEndorsementAuthorization(t *testing.T) {
	r := newRig(t)
	ask(r, tpm2.HierarchyChangeAuth{AuthHandle: tpm2.TPMRHEndorsement, NewAuth: tpm2.TPM2BAuth{Buffer: []byte("hunter2")}})
	r.refused(exitRefused, "wrong endorsement authorization")
	r.checkUntouched()
	p := r.start("--endorsement-auth-file", secret(t, "hunter2"))
	p.mint(1)
	p.stop()
}

// TestStranger leaves alone what is not opmint's.
func TestStranger(t *testing.T) {
	r := newRig(t)
	ask(r, tpm2.NVDefineSpace{
		AuthHandle: tpm2.TPMRHOwner,
		PublicInfo: tpm2.New2B(tpm2.TPMSNVPublic{
			NVIndex: tpm.DefaultIndex, NameAlg: tpm2.TPMAlgSHA256, DataSize: 8,
			Attributes: tpm2.TPMANV{NT: tpm2.TPMNTCounter, AuthRead: true, AuthWrite: true},
		}),
	})
	r.refused(exitRefused, fmt.Sprintf("0x%08x", tpm.DefaultIndex))
}
