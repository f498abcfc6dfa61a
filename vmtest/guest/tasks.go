package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// tasks are what the test outside can ask for.
var tasks = map[string]func(arguments json.RawMessage) (any, error){
	"system":     task(system),
	"properties": task(properties),
	"define":     task(define),
	"claim":      task(claim),
	"detect":     task(detect),
}

// task makes a task of a function with arguments of its own type.
func task[A, R any](do func(A) (R, error)) func(json.RawMessage) (any, error) {
	return func(raw json.RawMessage) (any, error) {
		var arguments A
		if err := json.Unmarshal(raw, &arguments); err != nil {
			return nil, fmt.Errorf("arguments %s: %w", raw, err)
		}
		return do(arguments)
	}
}

// detect returns what the program opmint says of this machine.
func detect(struct{}) (json.RawMessage, error) {
	report, err := exec.Command("/opmint", "detect", "--json").Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		err = fmt.Errorf("%w: %s", err, exit.Stderr)
	}
	return report, err
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
