//go:build packages

package packaging_test

import (
	"bufio"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// patience bounds how long a systemd that will never be ready is waited for.
const patience = 3 * time.Minute

// boot starts the root's systemd, and returns once it has started all that it has.
func (r *root) boot() {
	r.t.Helper()
	// In the root, but by a path that is short enough for a socket.
	link, err := os.MkdirTemp("", "boot")
	if err != nil {
		r.t.Fatal(err)
	}
	defer os.RemoveAll(link)
	if err := os.Symlink(r.dir, link+"/root"); err != nil {
		r.t.Fatal(err)
	}
	ready, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: link + "/root/ready", Net: "unixgram"})
	if err != nil {
		r.t.Fatal(err)
	}
	defer ready.Close()
	cmd := exec.Command("testdata/boot", r.dir)
	cmd.Stderr = r.t.Output()
	stdin, err := cmd.StdinPipe()
	if err != nil {
		r.t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		r.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() {
		stdin.Close()
		if err := cmd.Wait(); err != nil {
			r.t.Errorf("%s: %v", cmd, err)
		}
	})
	pid, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		r.t.Fatalf("%s: %v", cmd, err)
	}
	r.enter = []string{"nsenter", "--target", strings.TrimSpace(pid), "--all", "--root", "--wd"}
	r.awaitReady(ready)
	if err := os.Remove(filepath.Join(r.dir, "ready")); err != nil && !os.IsNotExist(err) {
		r.t.Fatal(err)
	}
}

// awaitReady returns when systemd says that it is ready, as it does to who runs it
// in a container.
func (r *root) awaitReady(from *net.UnixConn) {
	r.t.Helper()
	if err := from.SetReadDeadline(time.Now().Add(patience)); err != nil {
		r.t.Fatal(err)
	}
	message := make([]byte, 4096)
	for {
		n, err := from.Read(message)
		if err != nil {
			r.t.Fatalf("systemd does not get ready: %v", err)
		}
		if strings.Contains(string(message[:n]), "READY=1") {
			return
		}
	}
}

// tell adds what systemd wrote about the daemon to a test that failed.
func (r *root) tell() {
	if r.t.Failed() {
		out, err := r.command("journalctl", "--no-pager", "--unit", "opmintd.*").CombinedOutput()
		r.t.Logf("%s%v", out, err)
	}
}
