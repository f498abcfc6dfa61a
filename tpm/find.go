package tpm

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
)

// Auto is the address of the machine's own TPM: the lowest /dev/tpmrmN.
const Auto = "auto"

var (
	// ErrNoTPM: Auto was asked for, and nothing shows that the machine has a
	// TPM. One that is there and cannot be used is another error.
	ErrNoTPM = errors.New("this machine has no TPM (is it enabled in the firmware's setup?)")
	// ErrAddress: what was given as the address of a TPM is none.
	ErrAddress = errors.New("not the address of a TPM")
)

// find returns the device file of the machine's own TPM, in the file tree from
// "/". Only TPMs 2.0 have a resource manager; /dev/tpm0 alone may be any TPM,
// and another program's, so nobody gets it without asking for it.
func find(root fs.FS) (string, error) {
	devices, err := fs.ReadDir(root, "dev")
	if err != nil {
		return "", cannotTell(err)
	}
	if name := lowest(devices, "tpmrm"); name != "" {
		return "/dev/" + name, nil
	}
	if name := lowest(devices, "tpm"); name != "" {
		return "", fmt.Errorf("/dev/%[1]s is there, and no /dev/tpmrm0 that can be shared: if it is a TPM 2.0 "+
			"that no other program uses, name it with --tpm /dev/%[1]s; opmintd --tpm none does without it", name)
	}
	sign, err := hidden(root)
	switch {
	case err != nil:
		return "", cannotTell(err)
	case sign != "":
		return "", fmt.Errorf("%s shows a TPM, and there is no /dev/tpmrm0: "+
			"load its driver, or let the container have the device; opmintd --tpm none does without it", sign)
	}
	return "", ErrNoTPM
}

// cannotTell explains that the machine does not even show whether it has a TPM.
func cannotTell(err error) error {
	return fmt.Errorf("cannot tell whether there is a TPM: %w (name it with --tpm; opmintd --tpm none does without one)", err)
}

// hidden returns what shows that there is a TPM even though it has no device
// file: the kernel's list, or the table by which the firmware announces one to
// the kernel (TCG ACPI Specification, TPM2), whose driver may not be loaded yet.
func hidden(root fs.FS) (string, error) {
	list, err := fs.ReadDir(root, "sys/class/tpm")
	if errors.Is(err, fs.ErrNotExist) {
		// The kernel makes the class with the first driver. That it is missing
		// says something only where classes can be seen.
		_, err = fs.ReadDir(root, "sys/class")
	}
	if err != nil {
		return "", err
	}
	if name := lowest(list, "tpm"); name != "" {
		return "/sys/class/tpm/" + name, nil
	}
	const table = "sys/firmware/acpi/tables/TPM2"
	if _, err := fs.Stat(root, table); err == nil {
		return "/" + table, nil
	}
	return "", nil
}

// lowest returns the entry that is prefix and the lowest number; "" if none is.
func lowest(entries []fs.DirEntry, prefix string) string {
	var found string
	least := uint64(1 << 32)
	for _, entry := range entries {
		digits, ok := strings.CutPrefix(entry.Name(), prefix)
		n, err := strconv.ParseUint(digits, 10, 32)
		if ok && err == nil && n < least {
			found, least = entry.Name(), n
		}
	}
	return found
}
