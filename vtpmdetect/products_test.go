package vtpmdetect

import "testing"

// What SMBIOS holds on virtual machines, as their makers, systemd's
// detect-virt and users' reports give it.
func TestVMProducts(t *testing.T) {
	for _, s := range []string{
		"QEMU", "QEMU Virtual Machine", "KVM Virtual Machine",
		"Standard PC (i440FX + PIIX, 1996)", "Standard PC (Q35 + ICH9, 2009)",
		"SeaBIOS", "EFI Development Kit II / OVMF", "Proxmox distribution of EDK II", "Debian distribution of EDK II",
		"Bochs", "KVM", "Red Hat", "RHEV Hypervisor KVM", "oVirt", "oVirt Node", "AHV", "KubeVirt", "Virtuozzo",
		"OpenStack Foundation", "OpenStack Nova", "OpenStack Compute", "CloudStack KVM Hypervisor",
		"Xen", "HVM domU", "Xen Project",
		"VMware, Inc.", "VMware Virtual Platform", "VMware7,1", "VMware20,1",
		"innotek GmbH", "VirtualBox", "Oracle VM VirtualBox",
		"Virtual Machine", "Microsoft Virtual Machine", "virtual machine",
		"Parallels Software International Inc.", "Parallels International GmbH.", "Parallels Virtual Platform",
		"Apple Virtualization Generic Platform", "BHYVE", "bhyve", "crosvm", "Cloud Hypervisor", "cloud-hypervisor",
		"Droplet", "vServer",
	} {
		if _, ok := vmProductName(s); !ok {
			t.Errorf("%q is not taken for a VM's", s)
		}
	}
}

// What SMBIOS holds on metal, or on both.
func TestNotVMProducts(t *testing.T) {
	for _, s := range []string{
		"", " ", "To Be Filled By O.E.M.", "Default string", "System Product Name",
		"Dell Inc.", "PowerEdge R740", "XPS 13 7390", "LENOVO", "20MF000DGE", "HP", "HPE", "ProLiant DL380 Gen10",
		"Supermicro", "Intel(R) Client Systems", "American Megatrends Inc.", "Phoenix Technologies LTD", "coreboot", "EDK II",
		"Oracle Corporation", "ORACLE SERVER X5-2", "Microsoft Corporation", "Surface Laptop",
		"Google", "Google Compute Engine", "Eve", "Amazon EC2", "m6g.metal", "m6g.large",
		"Alibaba Cloud", "Alibaba Cloud ECS", "Nutanix", "NX-3060-G5", "Apple Inc.", "Macmini8,1",
		"Raspberry Pi 4 Model B", "Xenon", "Axen", "Jetson Xavier NX", "KVMedia", "FreeBSD", "DigitalOcean", "Hetzner",
	} {
		if name, ok := vmProductName(s); ok {
			t.Errorf("%q is taken for a VM's, by %q", s, name)
		}
	}
}
