package tpm

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-tpm/tpm2"
)

// recorder notes the commands of a Device, without the cleaning up at the
// beginning of a connection on a socket.
type recorder struct {
	mu       sync.Mutex
	commands []string
	bytes    []byte
}

func (rec *recorder) hook(cc tpm2.TPMCC, cmd []byte, next exchange) ([]byte, bool, error) {
	rec.mu.Lock()
	if cc != tpm2.TPMCCGetCapability {
		rec.commands = append(rec.commands, commands[cc])
	}
	rec.bytes = append(rec.bytes, cmd...)
	rec.mu.Unlock()
	return next(cmd)
}

// take returns what was noted since the last time.
func (rec *recorder) take() []string {
	rec.mu.Lock()
	defer rec.mu.Unlock()
	defer func() { rec.commands = nil }()
	return rec.commands
}

func (rec *recorder) saw(secret []byte) bool {
	rec.mu.Lock()
	defer rec.mu.Unlock()
	return bytes.Contains(rec.bytes, secret)
}

// ledger collects owned values and fails the test if one comes twice.
type ledger struct {
	t      testing.TB
	mu     sync.Mutex
	values []uint64
}

func (l *ledger) add(v uint64) {
	l.t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	if slices.Contains(l.values, v) {
		l.t.Errorf("value %d is owned twice", v)
	}
	l.values = append(l.values, v)
}

// claim claims with c; an error has to be one of want.
func (l *ledger) claim(c *Counter, want ...error) {
	l.t.Helper()
	v, err := c.Next(context.Background())
	if err == nil {
		l.add(v)
		return
	}
	for _, w := range want {
		if errors.Is(err, w) {
			return
		}
	}
	l.t.Errorf("claim: %v, want a value or one of %v", err, want)
}

// writeFile puts a file into a state folder.
func writeFile(t testing.TB, dir, name string, data []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
		t.Fatal(err)
	}
}
