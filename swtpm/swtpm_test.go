package swtpm

import (
	"bufio"
	"encoding/binary"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-tpm/tpm2"
)

const index = tpm2.TPMHandle(0x01800100)

// must runs one command, which has to succeed.
func must[R any, PR *R](t *testing.T, tpm *TPM, cmd tpm2.Command[R, PR]) PR {
	t.Helper()
	rsp, err := ask(tpm.socket, answerTime, cmd)
	if err != nil {
		t.Fatalf("%T: %v", cmd, err)
	}
	return rsp
}

// handle names the counter of these tests as it is now.
func handle(t *testing.T, tpm *TPM) tpm2.AuthHandle {
	t.Helper()
	name := must(t, tpm, tpm2.NVReadPublic{NVIndex: index}).NVName
	return tpm2.AuthHandle{Handle: index, Name: name, Auth: tpm2.PasswordAuth(nil)}
}

func define(t *testing.T, tpm *TPM) {
	t.Helper()
	must(t, tpm, tpm2.NVDefineSpace{
		AuthHandle: tpm2.TPMRHOwner,
		PublicInfo: tpm2.New2B(tpm2.TPMSNVPublic{
			NVIndex: index, NameAlg: tpm2.TPMAlgSHA256, DataSize: 8,
			Attributes: tpm2.TPMANV{AuthRead: true, AuthWrite: true, NoDA: true, NT: tpm2.TPMNTCounter},
		}),
	})
}

// next increments the counter and returns its value.
func next(t *testing.T, tpm *TPM) uint64 {
	t.Helper()
	h := handle(t, tpm)
	must(t, tpm, tpm2.NVIncrement{AuthHandle: h, NVIndex: h})
	h = handle(t, tpm)
	return binary.BigEndian.Uint64(must(t, tpm, tpm2.NVRead{AuthHandle: h, NVIndex: h, Size: 8}).Data.Buffer)
}

func TestStateOutlivesTheProcess(t *testing.T) {
	tpm := StartTest(t)
	define(t, tpm)
	addr, first := tpm.Addr(), next(t, tpm)
	for name, restart := range map[string]func() error{
		"while it runs": tpm.Restart,
		"after Kill":    func() error { tpm.Kill(); tpm.Kill(); return tpm.Restart() },
		"after Stop": func() error {
			if err := tpm.Stop(); err != nil {
				return err
			}
			return tpm.Restart()
		},
	} {
		if err := restart(); err != nil {
			t.Fatalf("restart %s: %v", name, err)
		}
		if tpm.Addr() != addr {
			t.Errorf("restart %s: address %s, was %s", name, tpm.Addr(), addr)
		}
		if got := next(t, tpm); got != first+1 {
			t.Errorf("restart %s: counter %d, want %d", name, got, first+1)
		}
		first++
	}
}

func TestRewindRepeats(t *testing.T) {
	tpm := StartTest(t)
	define(t, tpm)
	before := next(t, tpm)
	copied := filepath.Join(t.TempDir(), "snapshot")
	if err := tpm.Snapshot(copied); err != nil {
		t.Fatal(err)
	}
	after := []uint64{next(t, tpm), next(t, tpm)}
	if after[0] != before+1 || after[1] != before+2 {
		t.Fatalf("counter went %d %v", before, after)
	}
	if err := tpm.Rewind(copied); err != nil {
		t.Fatal(err)
	}
	if got := next(t, tpm); got != before+1 {
		t.Errorf("counter %d after the rewind, want %d again", got, before+1)
	}
	clone, err := Start(copied)
	if err != nil {
		t.Fatal(err)
	}
	if got := next(t, clone); got != before+1 {
		t.Errorf("counter %d in the clone, want %d again", got, before+1)
	}
	if err := clone.Stop(); err != nil {
		t.Error(err)
	}
}

// TestRewindFromNoSnapshot leaves the TPM as it is.
func TestRewindFromNoSnapshot(t *testing.T) {
	tpm := StartTest(t)
	define(t, tpm)
	last := next(t, tpm)
	for _, test := range []struct{ from, says string }{
		{t.TempDir(), "no state of a TPM"},
		{filepath.Join(t.TempDir(), "none"), "no state of a TPM"},
		{tpm.dir, "onto itself"},
		{tpm.dir + "/.", "onto itself"},
	} {
		if err := tpm.Rewind(test.from); err == nil || !strings.Contains(err.Error(), test.says) {
			t.Errorf("Rewind from %s: %v, want %q", test.from, err, test.says)
		}
	}
	if err := tpm.Snapshot(tpm.dir); err == nil {
		t.Error("a snapshot into the TPM's own folder")
	}
	if err := tpm.Restart(); err != nil {
		t.Fatal(err)
	}
	if got := next(t, tpm); got != last+1 {
		t.Errorf("counter %d after refusals, want %d", got, last+1)
	}
}

func TestStopWhileAnotherTalks(t *testing.T) {
	tpm := StartTest(t)
	conn, err := net.Dial("unix", tpm.socket)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	tpm.patience = time.Millisecond // there is no answer, however long it is waited for
	if err := tpm.Stop(); err == nil {
		t.Error("Stop said nothing of a shutdown that could not be in order")
	}
	if _, err := io.ReadAll(conn); err != nil && !strings.Contains(err.Error(), "reset") {
		t.Errorf("connection to a stopped TPM: %v", err)
	}
}

func TestMissingProgram(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := Start(t.TempDir())
	if err == nil || !strings.Contains(err.Error(), "apt-get install swtpm") {
		t.Errorf("without the program: %v", err)
	}
}

func TestDamagedState(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "tpm2-00.permall"), []byte("garbage"), 0o600); err != nil {
		t.Fatal(err)
	}
	sockets := t.TempDir()
	t.Setenv("TMPDIR", sockets)
	_, err := Start(dir)
	if err == nil || !strings.Contains(err.Error(), "its log ends with:") {
		t.Errorf("on a damaged state: %v", err)
	}
	if left, _ := os.ReadDir(sockets); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestLongTemporaryFolder(t *testing.T) {
	long := filepath.Join(t.TempDir(), strings.Repeat("x", maxSocketPath))
	if err := os.Mkdir(long, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", long)
	tpm := StartTest(t)
	must(t, tpm, tpm2.ReadClock{})
}

// TestNoStrayProcess kills the parent of a swtpm, with no chance to clean up.
func TestNoStrayProcess(t *testing.T) {
	parent := exec.Command(os.Args[0], "-test.run=^TestHelperParent$")
	parent.Env = append(os.Environ(), "SWTPM_HELPER_STATE="+t.TempDir(), "TMPDIR="+t.TempDir())
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	socket, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the parent named no socket: %v", err)
	}
	conn, err := net.Dial("unix", strings.TrimSpace(socket))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := parent.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	// Ends when swtpm does.
	if _, err := io.ReadAll(conn); err != nil && !strings.Contains(err.Error(), "reset") {
		t.Errorf("connection to the swtpm of a killed parent: %v", err)
	}
	if err := parent.Wait(); err == nil {
		t.Error("the parent was not killed")
	}
}

// TestHelperParent is the parent in TestNoStrayProcess; alone it does nothing.
func TestHelperParent(t *testing.T) {
	dir := os.Getenv("SWTPM_HELPER_STATE")
	if dir == "" {
		return
	}
	tpm, err := Start(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stdout.WriteString(tpm.socket + "\n"); err != nil {
		t.Fatal(err)
	}
	select {}
}
