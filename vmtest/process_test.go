package vmtest

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
)

// parentVariable makes this test binary the parent that TestProcessDiesWithItsParent kills.
const parentVariable = "VMTEST_PARENT"

func TestProcessDiesWithItsParent(t *testing.T) {
	if os.Getenv(parentVariable) != "" {
		beParent(t)
	}
	parent := exec.Command(os.Args[0], "-test.run=^TestProcessDiesWithItsParent$")
	parent.Env = append(os.Environ(), parentVariable+"=1")
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fscanln(out, new(string)); err != nil {
		t.Fatalf("wait for the parent's word that its child runs: %v", err)
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	// The child writes to the same pipe, which ends when both are gone.
	if _, err := io.Copy(io.Discard, out); err != nil {
		t.Fatal(err)
	}
	if err := parent.Wait(); err == nil {
		t.Error("the parent ended by itself, want it killed")
	}
}

func beParent(t *testing.T) {
	child := exec.Command("sleep", "infinity")
	child.Stdout = os.Stdout
	p, err := start(child)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println("started")
	<-p.exited
}
