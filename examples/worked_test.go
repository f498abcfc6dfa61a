package examples_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// build builds programs of the project into a folder of the PATH.
func build(t *testing.T, packages ...string) {
	t.Helper()
	bin := t.TempDir()
	args := append([]string{"build", "-o", bin + "/"}, packages...)
	if out, err := exec.Command("go", args...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
}

// exits runs a program that has to end with a code.
func exits(t *testing.T, code int, program string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	out, err := cmd.CombinedOutput()
	if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) || cmd.ProcessState.ExitCode() != code {
		t.Errorf("%v: %v, want %d: %s", cmd, err, code, out)
	}
}

func write(t *testing.T, text string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestPayment: one charge and one refund, however often they are tried.
func TestPayment(t *testing.T) {
	start(t)
	build(t, "../cmd/opmint")
	r := receive(t, "", "POST /charges", "POST /refunds")
	ten, eleven := write(t, "10 EUR"), write(t, "11 EUR")
	exits(t, 52, "payment/pay.sh", "order 7", ten) // curl: the answer was lost
	exits(t, 0, "payment/pay.sh", "order 7", ten)
	exits(t, 3, "payment/pay.sh", "order 7", eleven)
	r.hasDone("POST /charges 10 EUR")
	exits(t, 0, "payment/pay.sh", "order 8", ten)
	exits(t, 52, "payment/refund.sh", "order 7", ten)
	exits(t, 0, "payment/refund.sh", "order 7", ten)
	r.hasDone("POST /charges 10 EUR", "POST /charges 10 EUR", "POST /refunds payment=h1-")
}

// TestSaga: three steps, or all that was done is undone, though the rollback breaks
// off and has to be tried again.
func TestSaga(t *testing.T) {
	start(t)
	build(t, "../cmd/opmint")
	r := receive(t, "", "POST /hotel")
	exits(t, 75, "saga/book.sh", "Rome")
	exits(t, 0, "saga/book.sh", "Rome")
	r.hasDone("POST /flight", "POST /hotel", "POST /car")

	r = receive(t, "POST /car", "DELETE /hotel", "DELETE /flight")
	exits(t, 75, "saga/book.sh", "Oslo")
	exits(t, 75, "saga/book.sh", "Oslo")
	exits(t, 1, "saga/book.sh", "Oslo")
	exits(t, 1, "saga/book.sh", "Oslo")
	r.hasDone("POST /flight", "POST /hotel", "DELETE /hotel", "DELETE /flight")
}
