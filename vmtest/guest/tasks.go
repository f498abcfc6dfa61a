package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// tasks are what the test outside can ask for. What a task writes to output is sent at once.
var tasks = map[string]func(arguments json.RawMessage, output io.Writer) (any, error){
	"system":     task(system),
	"properties": task(properties),
	"define":     task(define),
	"claim":      task(claim),
	"reseed":     task(reseed),
	"random":     task(random),
	"opmintd":    task(startDaemon),
	"run":        runProgram,
}

// task makes a task of a function with arguments of its own type.
func task[A, R any](do func(A) (R, error)) func(json.RawMessage, io.Writer) (any, error) {
	return func(raw json.RawMessage, _ io.Writer) (any, error) {
		var arguments A
		if err := json.Unmarshal(raw, &arguments); err != nil {
			return nil, fmt.Errorf("arguments %s: %w", raw, err)
		}
		return do(arguments)
	}
}

type systemResult struct {
	Release string `json:"release"` // of the kernel
	Vendor  string `json:"vendor"`  // of the machine, in its SMBIOS tables
	Driver  string `json:"driver"`  // of the TPM, as sysfs calls it
}

// system tells what the machine looks like from inside.
func system(struct{}) (systemResult, error) {
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		return systemResult{}, fmt.Errorf("uname: %w", err)
	}
	vendor, err := os.ReadFile("/sys/class/dmi/id/sys_vendor")
	if err != nil {
		return systemResult{}, err
	}
	driver, err := os.Readlink("/sys/class/tpm/tpm0/device/driver")
	if err != nil {
		return systemResult{}, err
	}
	return systemResult{unix.ByteSliceToString(name.Release[:]), strings.TrimSpace(string(vendor)),
		filepath.Base(driver)}, nil
}
