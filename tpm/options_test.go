package tpm

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestReadAuthValue(t *testing.T) {
	longest := strings.Repeat("x", 64)
	for _, c := range []struct {
		name, content string
		mode          fs.FileMode
		want          string
		says          string // the error, if one is wanted
	}{
		{"plain", "secret", 0o600, "secret", ""},
		{"newline", "secret\n", 0o400, "secret", ""},
		{"two newlines", "secret\n\n", 0o600, "secret\n", ""},
		{"carriage return", "secret\r\n", 0o600, "secret\r", ""},
		{"spaces and zeros", " a\x00b\x00", 0o600, " a\x00b\x00", ""},
		{"group", "secret", 0o660, "secret", ""},
		{"longest", longest, 0o600, longest, ""},
		{"longest with newline", longest + "\n", 0o600, longest, ""},
		{"too long", longest + "x", 0o600, "", "more than 64 bytes"},
		{"too long with newline", longest + "x\n", 0o600, "", "more than 64 bytes"},
		{"longest with two newlines", longest + "\n\n", 0o600, "", "more than 64 bytes"},
		{"endless", strings.Repeat("x", 1<<20), 0o600, "", "more than 64 bytes"},
		{"empty", "", 0o600, "", "is empty"},
		{"only a newline", "\n", 0o600, "", "is empty"},
		{"everybody reads", "secret", 0o644, "", "open to everybody (mode 0644)"},
		{"everybody writes", "secret", 0o602, "", "chmod o= "},
	} {
		path := filepath.Join(t.TempDir(), "auth")
		writeFile(t, filepath.Dir(path), "auth", []byte(c.content))
		if err := os.Chmod(path, c.mode); err != nil {
			t.Fatal(err)
		}
		got, err := ReadAuthValue(path)
		if string(got) != c.want || (err == nil) != (c.says == "") {
			t.Errorf("%s: %q, %v, want %q", c.name, got, err, c.want)
		}
		if err != nil && (!strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), path)) {
			t.Errorf("%s: %v, want %s", c.name, err, c.says)
		}
	}
	if _, err := ReadAuthValue(filepath.Join(t.TempDir(), "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	if _, err := ReadAuthValue(t.TempDir()); err == nil {
		t.Error("a folder was read")
	}
}

// TestReadAuthValueFromPipe is what a shell does for <(pass show tpm/owner).
func TestReadAuthValueFromPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	written := make(chan error)
	go func() { written <- os.WriteFile(path, []byte("secret\n"), 0) }()
	got, err := ReadAuthValue(path)
	if err != nil || string(got) != "secret" {
		t.Errorf("%q, %v", got, err)
	}
	if err := <-written; err != nil {
		t.Error(err)
	}
}

// TestReadAuthValueFromStandardInput reads what is there even where it cannot be opened
// again, such as a socket, or another user's pipe.
func TestReadAuthValueFromStandardInput(t *testing.T) {
	stdin := os.Stdin
	t.Cleanup(func() { os.Stdin = stdin })
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	theirs := os.NewFile(uintptr(ends[1]), "theirs")
	os.Stdin = os.NewFile(uintptr(ends[0]), "ours")
	if _, err := theirs.WriteString("secret\n"); err != nil {
		t.Fatal(err)
	}
	if err := theirs.Close(); err != nil {
		t.Fatal(err)
	}
	if got, err := ReadAuthValue("-"); err != nil || string(got) != "secret" {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := ReadAuthValue("-"); err == nil || !strings.Contains(err.Error(), "standard input is empty") {
		t.Errorf("read again: %v", err)
	}
	if err := os.Stdin.Close(); err != nil {
		t.Errorf("standard input was closed: %v", err)
	}
	dir := t.TempDir()
	writeFile(t, dir, "auth", []byte("secret"))
	path := filepath.Join(dir, "auth")
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if os.Stdin, err = os.Open(path); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadAuthValue("-"); err == nil || !strings.Contains(err.Error(), "chmod o= "+path) {
		t.Errorf("a file for everybody: %v", err)
	}
	if err := os.Stdin.Close(); err != nil {
		t.Error(err)
	}
}

func TestParseIndex(t *testing.T) {
	for text, want := range map[string]uint32{
		"0x01901d01": DefaultIndex, "0x1901D01": DefaultIndex, "0x01800000": FirstIndex, "0x01bfffff": LastIndex,
	} {
		if got, err := ParseIndex(text); err != nil || got != want {
			t.Errorf("%s: 0x%08x, %v, want 0x%08x", text, got, err, want)
		}
	}
	for text, says := range map[string]string{
		"": "hexadecimal", "01901d01": "hexadecimal", "26221825": "hexadecimal", "0X01901d01": "hexadecimal",
		"0x": "invalid syntax", "0x-1": "invalid syntax", "0x0190_1d01": "invalid syntax", "0x01901d01 ": "invalid syntax",
		"0x101901d01": "out of range", "0x017fffff": "owner's range, 0x01800000 to 0x01bfffff", "0x01c00002": "owner's range",
		"0x81010001": "owner's range",
	} {
		if got, err := ParseIndex(text); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: 0x%08x, %v, want %s", text, got, err, says)
		}
	}
}
