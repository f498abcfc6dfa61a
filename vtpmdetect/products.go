package vtpmdetect

import (
	"regexp"
	"strings"
	"sync"
)

// vmProductNames are names that DMI strings hold on virtual machines and on
// nothing else. Makers who sell computers too are not among them: Oracle,
// Microsoft (Surface), Google and Amazon (metal), Alibaba, Nutanix, Apple.
var vmProductNames = []string{
	"QEMU", "Standard PC (i440FX", "Standard PC (Q35", // QEMU, and its machine types
	"Bochs", "SeaBIOS", "OVMF", "distribution of EDK II", // firmware built for VMs
	"KVM", "Red Hat", "oVirt", "OpenStack", "KubeVirt", "Virtuozzo", "AHV", // made on QEMU
	"Xen", "HVM domU",
	"VMware",
	"VirtualBox", "innotek",
	"Virtual Machine", // Hyper-V, Azure, Parallels on ARM, QEMU on ARM
	"Parallels",
	"Apple Virtualization",
	"bhyve",
	"crosvm", "Cloud Hypervisor", "cloud-hypervisor",
	"Droplet", "vServer", // DigitalOcean, Hetzner
}

// vmProductPattern finds a name that stands with no letter on either side:
// "VMware" in "VMware7,1", but "Xen" not in "Xenon".
var vmProductPattern = sync.OnceValue(func() *regexp.Regexp {
	quoted := make([]string, len(vmProductNames))
	for i, name := range vmProductNames {
		quoted[i] = regexp.QuoteMeta(name)
	}
	return regexp.MustCompile(`(?i)(?:^|[^a-z])(` + strings.Join(quoted, "|") + `)(?:[^a-z]|$)`)
})

// vmProductName returns the name of a VM product that a DMI string holds, as
// it is written there.
func vmProductName(s string) (name string, ok bool) {
	match := vmProductPattern().FindStringSubmatch(s)
	if match == nil {
		return "", false
	}
	return match[1], true
}
