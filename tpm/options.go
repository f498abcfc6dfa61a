package tpm

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

// maxAuthValue is the longest authorization value of a hierarchy in bytes: that
// of the largest digest, SHA-512 (TPM 2.0 Part 1, "Authorization Values").
const maxAuthValue = 64

// ReadAuthValue reads the authorization value of a hierarchy, 1 to 64 bytes,
// from a file, which may be a pipe. The path - is standard input as it was opened:
// a program that runs as another user may not open /dev/stdin again. One newline at
// its end is not part of the value, as editors and tpm2-tools have it. A file that
// everybody may read or write is refused, since the value is a secret; its group may.
// An empty file is refused, since it was meant to hold something: a hierarchy without
// an authorization value needs no file.
func ReadAuthValue(path string) ([]byte, error) {
	value, err := readAuthValue(path)
	if err != nil {
		return nil, fmt.Errorf("read an authorization value: %w", err)
	}
	return value, nil
}

func readAuthValue(path string) ([]byte, error) {
	f, name := os.Stdin, "standard input"
	if path != "-" {
		var err error
		if f, err = os.Open(path); err != nil {
			return nil, err
		}
		defer f.Close()
		name = path
	}
	if err := checkPrivate(f, name); err != nil {
		return nil, err
	}
	value, err := io.ReadAll(io.LimitReader(f, maxAuthValue+2))
	if err != nil {
		return nil, err
	}
	if n := len(value); n > 0 && value[n-1] == '\n' {
		value = value[:n-1]
	}
	switch {
	case len(value) == 0:
		return nil, fmt.Errorf("%s is empty; without an authorization value no file is needed", name)
	case len(value) > maxAuthValue:
		return nil, fmt.Errorf("%s has more than %d bytes, which no TPM takes", name, maxAuthValue)
	}
	return value, nil
}

// checkPrivate returns an error if everybody may read what is to be a secret.
func checkPrivate(f *os.File, name string) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	mode := info.Mode()
	if mode.Perm()&0o007 == 0 || f == os.Stdin && !mode.IsRegular() {
		// Nobody else reads from a socket or a pipe that was there already.
		return nil
	}
	return fmt.Errorf("%s is open to everybody (mode %04o), and the value may be known: chmod o= %s",
		name, mode.Perm(), f.Name())
}

// ParseIndex reads the handle of an NV index of the owner's range, FirstIndex to
// LastIndex, as opmint prints it: hexadecimal, after 0x.
func ParseIndex(text string) (uint32, error) {
	digits, ok := strings.CutPrefix(text, "0x")
	if !ok {
		return 0, errors.New("want a number in hexadecimal, such as 0x01901d01")
	}
	n, err := strconv.ParseUint(digits, 16, 32)
	if err != nil {
		return 0, fmt.Errorf("want a number in hexadecimal, such as 0x01901d01: %w", errors.Unwrap(err))
	}
	if n < FirstIndex || n > LastIndex {
		return 0, fmt.Errorf("not in the owner's range, 0x%08x to 0x%08x", FirstIndex, LastIndex)
	}
	return uint32(n), nil
}
