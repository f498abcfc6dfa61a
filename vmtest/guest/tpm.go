package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"

	"github.com/opmint/opmint/tpm"
)

const (
	tpmPath  = "/dev/tpmrm0"
	stateDir = "/tmp/opmint"
)

type propertiesResult struct {
	Manufacturer uint32 `json:"manufacturer"`
	Openings     int    `json:"openings"` // how often the device was opened for it
}

// properties reads the TPM's properties over and over. Package tpm opens the device once for each time, and once more
// where an answer was lost.
func properties(arguments struct{ Count int }) (propertiesResult, error) {
	device, err := tpm.Open(tpmPath)
	if err != nil {
		return propertiesResult{}, err
	}
	opened, err := watchOpenings(tpmPath)
	if err != nil {
		return propertiesResult{}, err
	}
	var result propertiesResult
	for range arguments.Count {
		p, err := device.Properties(context.Background())
		if err != nil {
			return propertiesResult{}, err
		}
		result.Manufacturer = p.Manufacturer
	}
	result.Openings, err = opened.count()
	return result, err
}

// openCounter returns the counter at the default index, which all processes share.
func openCounter() (*tpm.Counter, error) {
	device, err := tpm.Open(tpmPath)
	if err != nil {
		return nil, err
	}
	return tpm.NewCounter(tpm.CounterConfig{Device: device, StateDir: stateDir})
}

// define makes the counter and returns its value.
func define(struct{}) (uint64, error) {
	if err := os.MkdirAll(stateDir, 0o700); err != nil {
		return 0, err
	}
	counter, err := openCounter()
	if err != nil {
		return 0, err
	}
	if err := counter.Define(context.Background()); err != nil {
		return 0, err
	}
	return counter.Read(context.Background())
}

// claim has several processes claim Count values each, at the same time, and returns what each of them owns.
func claim(arguments struct{ Processes, Count int }) ([][]uint64, error) {
	processes := make([]*exec.Cmd, arguments.Processes)
	outputs := make([]bytes.Buffer, arguments.Processes)
	start, starter, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	isReady, ready, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	for i := range processes {
		p := exec.Command("/proc/self/exe", claimer, strconv.Itoa(arguments.Count))
		p.Stdin, p.Stdout, p.Stderr, p.ExtraFiles = start, &outputs[i], os.Stderr, []*os.File{ready}
		if err := p.Start(); err != nil {
			return nil, err
		}
		processes[i] = p
	}
	// They begin together, when all are ready.
	ready.Close()
	_, err = io.ReadFull(isReady, make([]byte, len(processes)))
	starter.Close()
	start.Close()
	isReady.Close()
	if err != nil {
		return nil, fmt.Errorf("claiming process: %w, see the console", err)
	}
	owned := make([][]uint64, arguments.Processes)
	for i, p := range processes {
		if err := p.Wait(); err != nil {
			return nil, fmt.Errorf("claiming process: %w, see the console", err)
		}
		if err := json.Unmarshal(outputs[i].Bytes(), &owned[i]); err != nil {
			return nil, fmt.Errorf("claiming process: %w", err)
		}
	}
	return owned, nil
}

// claimer as its first argument makes this program a process that claims.
const claimer = "claim"

// waitForStart says that this process is ready, and returns when all are.
func waitForStart() error {
	ready := os.NewFile(3, "ready")
	if _, err := ready.Write([]byte{0}); err != nil {
		return err
	}
	_, err := io.Copy(io.Discard, os.Stdin)
	return err
}

// runClaimer claims as many values as count says and writes them to out.
func runClaimer(count string, out io.Writer) error {
	n, err := strconv.Atoi(count)
	if err != nil {
		return err
	}
	counter, err := openCounter()
	if err != nil {
		return err
	}
	if err := waitForStart(); err != nil {
		return err
	}
	owned := make([]uint64, 0, n)
	for len(owned) < n {
		value, err := counter.Next(context.Background())
		if errors.Is(err, tpm.ErrBusy) {
			continue // others were faster each time; they have what they came for some day
		}
		if err != nil {
			return err
		}
		owned = append(owned, value)
	}
	return json.NewEncoder(out).Encode(owned)
}
