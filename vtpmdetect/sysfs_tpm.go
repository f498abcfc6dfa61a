package vtpmdetect

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

const tpmClass = "sys/class/tpm"

// Device is a TPM as the kernel shows it.
type Device struct {
	// Path is the device file: /dev/tpmrm0, or /dev/tpm0 where the kernel has
	// no resource manager for it, as for every TPM 1.2.
	Path string
	// SysPath is its place in sysfs, links resolved: it ends in /tpm/tpm0.
	SysPath string
	// Driver is the kernel's driver; empty if not observed, and for a TPM that
	// hangs on no hardware.
	Driver string
	// Version is 1 or 2; 0 if not observed: kernels before 5.6 do not tell.
	Version int
}

// Devices lists the TPMs that the kernel shows, by number. The error says why
// the list could not be read; without one, an empty list means that there is
// no TPM, or that the kernel has no driver for it.
func Devices(root fs.FS) ([]Device, error) {
	names, err := list(root, tpmClass)
	if errors.Is(err, fs.ErrNotExist) {
		// The class is there once a driver is, so its absence counts if
		// other classes can be seen.
		if classes, err := list(root, path.Dir(tpmClass)); err == nil && len(classes) > 0 {
			return nil, nil
		}
	}
	if err != nil {
		return nil, fmt.Errorf("list TPMs: %w", err)
	}
	var numbers []int
	for _, name := range names {
		if n, ok := tpmNumber(name); ok {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	var devices []Device
	for _, n := range numbers {
		devices = append(devices, describe(root, n))
	}
	return devices, nil
}

// tpmNumber reads N of tpmN and of tpmrmN, the resource manager's node.
func tpmNumber(name string) (int, bool) {
	digits, ok := strings.CutPrefix(name, "tpmrm")
	if !ok {
		digits, ok = strings.CutPrefix(name, "tpm")
	}
	n, err := strconv.ParseUint(digits, 10, 16)
	return int(n), ok && err == nil
}

func describe(root fs.FS, n int) Device {
	class := fmt.Sprintf("%s/tpm%d", tpmClass, n)
	d := Device{Path: fmt.Sprintf("/dev/tpm%d", n)}
	if exists(root, fmt.Sprintf("sys/class/tpmrm/tpmrm%d", n)) {
		d.Path = fmt.Sprintf("/dev/tpmrm%d", n)
	}
	if place, err := resolve(root, class); err == nil {
		d.SysPath = "/" + place
	}
	if driver, err := resolve(root, class+"/device/driver"); err == nil {
		d.Driver = printable(path.Base(driver))
	}
	if version, err := readFile(root, class+"/tpm_version_major"); err == nil {
		d.Version, _ = strconv.Atoi(strings.TrimSpace(string(version)))
	}
	return d
}

// deviceOf finds the TPM behind a device file by the file's number, since its
// name in a container need not be the kernel's.
func (g *gatherer) deviceOf(address string) (d Device, ok bool) {
	file, err := resolve(g.root, strings.TrimPrefix(path.Clean(address), "/"))
	if err != nil {
		g.failed(signalDevice, address, err)
		return Device{}, false
	}
	info, err := fs.Lstat(g.root, file)
	if err != nil {
		g.failed(signalDevice, address, err)
		return Device{}, false
	}
	major, minor, ok := deviceNumber(info)
	if !ok || info.Mode()&fs.ModeCharDevice == 0 {
		g.gap(signalDevice, address, "not a character device")
		return Device{}, false
	}
	link := fmt.Sprintf("sys/dev/char/%d:%d", major, minor)
	node, err := resolve(g.root, link)
	if err != nil {
		g.failed(signalDevice, "/"+link, err)
		return Device{}, false
	}
	n, ok := tpmNumber(path.Base(node))
	if !ok {
		g.gap(signalDevice, "/"+link, "not a TPM: /"+node)
		return Device{}, false
	}
	return describe(g.root, n), true
}

// pick returns the first TPM 2.0, else the first, and the others.
func pick(devices []Device) (Device, []Device) {
	first := max(0, slices.IndexFunc(devices, func(d Device) bool { return d.Version != 1 }))
	return devices[first], slices.Delete(slices.Clone(devices), first, first+1)
}
