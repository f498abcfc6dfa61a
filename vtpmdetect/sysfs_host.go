package vtpmdetect

import (
	"errors"
	"io/fs"
	"slices"
	"strconv"
	"strings"
)

// host learns what the firmware and the kernel show of the machine.
func (g *gatherer) host() Host {
	const dmi = "sys/class/dmi/id/"
	return Host{
		DMI: DMI{
			SysVendor:   g.text("host.dmi.sys_vendor", dmi+"sys_vendor"),
			ProductName: g.text("host.dmi.product_name", dmi+"product_name"),
			BIOSVendor:  g.text("host.dmi.bios_vendor", dmi+"bios_vendor"),
		},
		ACPIModalias:         g.acpiModalias(),
		XenDom0:              g.xenDom0(),
		SysHypervisor:        g.text("host.sys_hypervisor", "sys/hypervisor/type"),
		DeviceTreeHypervisor: g.deviceTreeHypervisor(),
		Container:            g.container(),
	}
}

// acpiModalias lists the modaliases of devices that only a VM has; a machine
// has some hundred others, which say nothing here and much elsewhere.
func (g *gatherer) acpiModalias() []string {
	const signal, dir = "host.acpi_modalias", "sys/bus/acpi/devices"
	names, err := list(g.root, dir)
	if err != nil {
		g.failed(signal, "/"+dir, err)
		return nil
	}
	var found []string
	unread := false
	for _, name := range names {
		file := dir + "/" + name + "/modalias"
		data, err := readFile(g.root, file)
		switch modalias := strings.TrimSpace(string(data)); {
		case errors.Is(err, fs.ErrNotExist): // devices without an id have no modalias
		case err != nil && !unread: // one stands for all
			unread = true
			g.failed(signal, "/"+file, err)
		case vmACPIDevice(modalias) != "":
			found = append(found, printable(modalias))
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// xenDom0 reports whether this is Xen's control domain: by the features that
// Xen lists (XENFEAT_dom0 in xen/include/public/features.h), or, where that
// file is missing, by the capabilities that xenfs lists.
func (g *gatherer) xenDom0() *bool {
	const (
		signal       = "host.xen_dom0"
		features     = "sys/hypervisor/properties/features"
		capabilities = "proc/xen/capabilities"
		featureDom0  = 1 << 11
	)
	if content, ok := g.read(signal, features); ok {
		if bits, err := strconv.ParseUint(content, 16, 64); err == nil {
			return new(bits&featureDom0 != 0)
		}
		g.gap(signal, "/"+features, "not a hexadecimal number")
	}
	content, ok := g.read(signal, capabilities)
	if !ok {
		return nil
	}
	return new(slices.Contains(strings.Split(content, ","), "control_d"))
}

// virtualBoards are machines of the device tree that exist only in emulators
// and hypervisors.
var virtualBoards = []string{"linux,dummy-virt", "riscv-virtio", "qemu,pseries"}

// deviceTreeHypervisor returns what the hypervisor's node says; without one,
// what else in the tree only a hypervisor makes.
func (g *gatherer) deviceTreeHypervisor() string {
	const signal, tree = "host.device_tree_hypervisor", "sys/firmware/devicetree/base"
	if !exists(g.root, tree) {
		g.gap(signal, "/"+tree, "no such file")
		return ""
	}
	if s := g.stringList(signal, tree+"/hypervisor/compatible"); len(s) > 0 {
		return strings.Join(s, " ")
	}
	if exists(g.root, tree+"/ibm,partition-name") && exists(g.root, tree+"/hmc-managed?") &&
		!exists(g.root, tree+"/chosen/qemu,graphic-width") {
		return "powervm"
	}
	for _, board := range g.stringList(signal, tree+"/compatible") {
		if slices.Contains(virtualBoards, board) {
			return board
		}
	}
	nodes, err := list(g.root, tree)
	if err != nil {
		g.failed(signal, "/"+tree, err)
	}
	for _, node := range nodes {
		if strings.HasPrefix(node, "fw-cfg") {
			return "qemu,fw-cfg"
		}
	}
	return ""
}

// stringList reads a property of the device tree that is a list of strings,
// each ended by a NUL (Devicetree Specification, section 2.2.4).
func (g *gatherer) stringList(signal, name string) []string {
	content, _ := g.read(signal, name)
	var values []string
	for value := range strings.SplitSeq(content, "\x00") {
		if value = printable(strings.TrimSpace(value)); value != "" {
			values = append(values, value)
		}
	}
	return values
}

// container returns what manages the container this runs in. Its absence is no
// gap: most machines are none.
func (g *gatherer) container() string {
	for _, file := range []string{"run/host/container-manager", "run/systemd/container"} {
		if data, err := readFile(g.root, file); err == nil && len(data) > 0 {
			return printable(strings.TrimSpace(string(data)))
		}
	}
	switch {
	case exists(g.root, "run/.containerenv"):
		return "podman"
	case exists(g.root, ".dockerenv"):
		return "docker"
	}
	return ""
}
