// Package swtpm runs a software TPM, the program swtpm, for tests and for
// trying opmint out on a machine without a TPM.
//
// A [TPM] is one swtpm process, the folder with its state and a Unix socket on
// which it speaks plain TPM 2.0 commands, one connection at a time. It is
// ready for commands when Start returns (TPM2_Startup(CLEAR) has been done),
// and it can be treated as badly as no chip could be:
//
//	Start ──► running ──► Stop      TPM2_Shutdown, then the process ends
//	             │   └──► Kill      the process dies at once: power lost
//	             │◄────── Restart   the same state, the same address
//	             ├──────► Snapshot  copies the state into another folder
//	             └◄────── Rewind    puts such a copy back: a VM rolled back
//
// A second Start on a copy made by Snapshot is a clone: the same endorsement
// key and the same counters, in a process of its own.
//
// The process never outlives the one that started it, even if that one is
// killed: the kernel kills it then. What may stay behind is an empty socket
// folder under the system's folder for temporary files.
//
// It is not for production: its keys lie in the state folder for all to read
// who may read that.
package swtpm

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// stateFiles are the files of the state folder that make up the TPM; the lock
// and the log beside them belong to one process.
const stateFiles = "tpm2-*"

// TPM is a software TPM. Its methods may be used by several goroutines.
type TPM struct {
	dir      string        // the state
	patience time.Duration // for an answer

	mu     sync.Mutex
	socket string // in a short folder of its own, made by Start
	proc   *process
}

// Start starts a software TPM on the state in dir, which is made (mode 0700)
// if it is missing; an empty folder becomes a new TPM. It returns when the TPM
// answers commands, and fails if the program swtpm is missing or does not
// answer within 30 seconds. The log is DIR/swtpm.log.
func Start(dir string) (*TPM, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("swtpm: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("swtpm: make the state folder: %w", err)
	}
	sockets, err := socketFolder()
	if err != nil {
		return nil, err
	}
	t := &TPM{dir: dir, patience: answerTime, socket: filepath.Join(sockets, "tpm")}
	if err := t.Restart(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(sockets))
	}
	return t, nil
}

// maxSocketPath is the longest path that fits sockaddr_un with its final NUL.
const maxSocketPath = 107

// socketFolder makes a folder whose path is short enough for sockets.
func socketFolder() (string, error) {
	dir, err := os.MkdirTemp("", "swtpm")
	if err == nil && len(filepath.Join(dir, "tpm")) > maxSocketPath {
		if err := os.Remove(dir); err != nil {
			return "", fmt.Errorf("swtpm: %w", err)
		}
		dir, err = os.MkdirTemp("/tmp", "swtpm")
	}
	if err != nil {
		return "", fmt.Errorf("swtpm: make a folder for the socket: %w", err)
	}
	return dir, nil
}

// Addr returns where the TPM listens, as opmint's --tpm takes it: unix:PATH.
// It stays the same for the life of t.
func (t *TPM) Addr() string { return "unix:" + t.socket }

// Restart kills the TPM if it runs and starts it again on the same state, as
// after a loss of power.
func (t *TPM) Restart() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kill()
	return t.start()
}

// Kill ends the process at once, with no TPM2_Shutdown. Killing a TPM that
// does not run does nothing.
func (t *TPM) Kill() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kill()
}

// Stop shuts the TPM down in order (TPM2_Shutdown(CLEAR)), ends the process and
// removes the socket. An error tells that the shutdown was not in order, say
// because another connection was open for longer than 30 seconds; the process
// has ended all the same. Restart works after it.
func (t *TPM) Stop() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	var err error
	if t.proc != nil {
		err = t.shutdown()
		t.kill()
	}
	return errors.Join(err, os.RemoveAll(filepath.Dir(t.socket)))
}

// Snapshot copies the TPM's state into the folder to, which is made if it is
// missing; a state that is there is replaced. The TPM goes on meanwhile.
func (t *TPM) Snapshot(to string) error {
	if err := os.MkdirAll(to, 0o700); err != nil {
		return fmt.Errorf("swtpm: make the folder for a snapshot: %w", err)
	}
	state, err := readState(to, t.dir)
	if err != nil {
		return err
	}
	return writeState(to, state)
}

// Rewind kills the TPM, puts the state back that Snapshot copied into the
// folder from, and starts it again at the same address. If from holds no state
// of a TPM, or is the TPM's own folder, nothing happens but the error.
func (t *TPM) Rewind(from string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	state, err := readState(t.dir, from)
	if err != nil {
		return err
	}
	t.kill()
	if err := writeState(t.dir, state); err != nil {
		return err
	}
	return t.start()
}

// readState reads the state of a TPM in the folder from, name by name, which is
// to replace that in the folder to.
func readState(to, from string) (map[string][]byte, error) {
	target, err := os.Stat(to)
	if err != nil {
		return nil, fmt.Errorf("swtpm: copy the state: %w", err)
	}
	if source, err := os.Stat(from); err == nil && os.SameFile(source, target) {
		return nil, fmt.Errorf("swtpm: copy the state in %s onto itself", from)
	}
	files, err := filepath.Glob(filepath.Join(from, stateFiles))
	if err != nil {
		return nil, fmt.Errorf("swtpm: look for the state: %w", err)
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("swtpm: no state of a TPM in %s: %w", from, os.ErrNotExist)
	}
	state := make(map[string][]byte, len(files))
	for _, name := range files {
		if state[filepath.Base(name)], err = os.ReadFile(name); err != nil {
			return nil, fmt.Errorf("swtpm: copy the state: %w", err)
		}
	}
	return state, nil
}

// writeState replaces the state in the folder to.
func writeState(to string, state map[string][]byte) error {
	old, err := filepath.Glob(filepath.Join(to, stateFiles))
	if err != nil {
		return fmt.Errorf("swtpm: look for the old state: %w", err)
	}
	for _, name := range old {
		if err := os.Remove(name); err != nil {
			return fmt.Errorf("swtpm: remove the old state: %w", err)
		}
	}
	for name, data := range state {
		if err := os.WriteFile(filepath.Join(to, name), data, 0o600); err != nil {
			return fmt.Errorf("swtpm: copy the state: %w", err)
		}
	}
	return nil
}
