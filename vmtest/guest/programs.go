package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

// startDaemon starts opmintd, with everything as it is by default, and returns when it has started, which is when it
// mints. Its log goes to the console.
func startDaemon(struct{}) (struct{}, error) {
	daemon := exec.Command("/opmintd")
	stderr, err := daemon.StderrPipe()
	if err != nil {
		return struct{}{}, err
	}
	if err := daemon.Start(); err != nil {
		return struct{}{}, err
	}
	log := io.TeeReader(stderr, os.Stderr)
	for lines := bufio.NewScanner(log); lines.Scan(); {
		if strings.Contains(lines.Text(), " msg=started ") {
			go func() {
				_, _ = io.Copy(io.Discard, log) // ends with the daemon
				fmt.Fprintln(os.Stderr, "guest: opmintd has ended:", daemon.Wait())
			}()
			return struct{}{}, nil
		}
	}
	return struct{}{}, fmt.Errorf("opmintd did not start, see the console: %w", daemon.Wait())
}

// runProgram runs a program, named by its path or found in PATH, with arguments, until it ends.
func runProgram(raw json.RawMessage, output io.Writer) (any, error) {
	var command []string
	if err := json.Unmarshal(raw, &command); err != nil || len(command) == 0 {
		return nil, fmt.Errorf("arguments %s are no command: %w", raw, err)
	}
	var complaints bytes.Buffer
	program := exec.Command(command[0], command[1:]...)
	program.Stdout, program.Stderr = output, &complaints
	if err := program.Run(); err != nil {
		return nil, fmt.Errorf("%s: %w: %s", strings.Join(command, " "), err, &complaints)
	}
	return struct{}{}, nil
}
