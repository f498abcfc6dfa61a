package vtpmdetect

import (
	"fmt"
	"strings"
)

// softwareClockUpdate is TPM_PT_CLOCK_UPDATE of the TCG's reference code and
// of all that was made from it. No chip was seen to report it.
const softwareClockUpdate Millis = 0x1000

// vendorString is what the TPM says, without the NUL bytes that fill it up.
func vendorString(t TPM) string {
	if t.VendorString == nil {
		return ""
	}
	return strings.TrimRight(*t.VendorString, "\x00")
}

// who names the maker of the TPM.
func who(t TPM) string {
	if t.Manufacturer == idMicrosoft {
		return fmt.Sprintf("Microsoft (vendor string %q)", vendorString(t))
	}
	return manufacturers()[t.Manufacturer].Organisation
}

// made is a reason that rests on who made the TPM.
func made(f facts, format string, args ...any) Reason {
	return Reason{Signal: "tpm.manufacturer", Value: f.tpm.Manufacturer.String(), Why: fmt.Sprintf(format, args...)}
}

func softwareMaker(f facts) Reason {
	if f.maker != makerSoftware {
		return Reason{}
	}
	return made(f, "a software TPM: %s", who(f.tpm))
}

func microsoftOnVM(f facts) Reason {
	if f.maker != makerMicrosoft || f.kind != HostVM {
		return Reason{}
	}
	return made(f, "in a VM, a TPM of %s is emulated by Hyper-V", who(f.tpm))
}

func chipOnVM(f facts) Reason {
	if f.maker != makerChip || f.kind != HostVM {
		return Reason{}
	}
	return made(f, "a chip or firmware TPM of %s, but this is a VM: it is passed through, perhaps to several VMs, "+
		"or an emulation of it", who(f.tpm))
}

func unknownMaker(f facts) Reason {
	switch {
	case f.maker == makerMicrosoft:
		return made(f, "%s makes chips and software TPMs alike, and this one is not known", who(f.tpm))
	case f.maker == makerUnknown && who(f.tpm) != "":
		return made(f, "%s is not known to make only chips", who(f.tpm))
	case f.maker == makerUnknown:
		return made(f, "no maker of TPMs with this id is known")
	}
	return Reason{}
}

func softwareClock(f facts) Reason {
	if f.tpm.ClockUpdate != softwareClockUpdate {
		return Reason{}
	}
	return Reason{Signal: "tpm.clock_update", Value: f.tpm.ClockUpdate.String(),
		Why: "every software TPM seen saves its clock at this interval, and no chip does"}
}

func unknownHost(f facts) Reason {
	if f.kind != HostUnknown {
		return Reason{}
	}
	return Reason{Signal: "host", Value: string(HostUnknown),
		Why: "whether this is a VM is not known, and a chip in a VM may be an emulation or shared"}
}

func chipOnMetal(f facts) Reason {
	return made(f, "a chip or firmware TPM of %s, on metal, and nothing speaks against it", who(f.tpm))
}
