package tpm

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"github.com/google/go-tpm/tpm2"
)

// Properties is what a TPM says of itself (TPM 2.0 Part 2, 6.13, TPM_PT). None
// of it is authenticated: it tells software TPMs from chips, not honest ones
// from liars.
type Properties struct {
	// Manufacturer is the maker's id from the TCG vendor id registry, to be
	// compared as a number: "IBM\0" and "IBM " are two makers.
	Manufacturer uint32
	// VendorString is the 16 bytes of TPM_PT_VENDOR_STRING_1 to _4 without the
	// zeros at their end; bytes inside, zeros too, are kept.
	VendorString string
	// Firmware is TPM_PT_FIRMWARE_VERSION_1 and _2, in the maker's own meaning.
	Firmware [2]uint32
	// SpecRevision is the revision of the specification times 100: 138 is 1.38.
	SpecRevision uint32
	// ClockUpdate is how often the clock is written to NV, in milliseconds.
	ClockUpdate uint32
	// FailureMode: the TPM refuses to work; what follows below is zero then.
	FailureMode bool

	// OwnerAuthSet, EndorsementAuthSet, LockoutAuthSet: the hierarchy has an
	// authorization value that is not empty.
	OwnerAuthSet, EndorsementAuthSet, LockoutAuthSet bool
	// InLockout: too many wrong authorizations. It does not stop the counter.
	InLockout bool
	// LockoutCounter counts wrong authorizations, up to MaxAuthFail.
	LockoutCounter, MaxAuthFail uint32
	// Counters is the number of NV counters that are defined, CountersMax how
	// many can be; 0 is no fixed number.
	Counters, CountersMax uint32
	// CountersAvail is how many more NV counters the TPM thinks it has room for.
	CountersAvail uint32
	// WriteRecovery is for how long the TPM refuses to write to its NV memory, since
	// too much was written of late, in milliseconds; 0 is that it takes a write now.
	WriteRecovery uint32

	// Clock is the time for which the TPM was powered since TPM2_Clear, in
	// milliseconds.
	Clock uint64
	// ClockSafe: the TPM has not shown a higher Clock before. It may have where power
	// was lost without warning, until the next ClockUpdate.
	ClockSafe bool
	// ResetCount and RestartCount count the TPM's restarts since TPM2_Clear:
	// those of power, and those out of suspend.
	ResetCount, RestartCount uint32
}

// TPMA_PERMANENT (TPM 2.0 Part 2, 8.6).
const (
	permanentOwnerAuth       = 1 << 0
	permanentEndorsementAuth = 1 << 1
	permanentLockoutAuth     = 1 << 2
	permanentInLockout       = 1 << 9
)

// Properties asks the TPM what it is. It works in failure mode too, where the
// TPM tells little more than its maker.
func (d *Device) Properties(ctx context.Context) (Properties, error) {
	var p Properties
	err := d.operate(ctx, shortLimit, func(l *link) error {
		var err error
		p, err = readProperties(l)
		return err
	})
	if err != nil {
		return Properties{}, fmt.Errorf("read the properties of the TPM: %w", err)
	}
	return p, nil
}

func readProperties(l *link) (Properties, error) {
	fixed, err := l.properties(tpm2.TPMPTRevision, tpm2.TPMPTClockUpdate)
	if err != nil {
		return Properties{}, err
	}
	p := Properties{
		Manufacturer: fixed[tpm2.TPMPTManufacturer],
		VendorString: vendorString(fixed),
		Firmware:     [2]uint32{fixed[tpm2.TPMPTFirmwareVersion1], fixed[tpm2.TPMPTFirmwareVersion2]},
		SpecRevision: fixed[tpm2.TPMPTRevision],
		ClockUpdate:  fixed[tpm2.TPMPTClockUpdate],
		CountersMax:  fixed[tpm2.TPMPTNVCountersMax],
	}
	// The first command that a TPM in failure mode does not answer.
	clock, err := run(l, tpm2.ReadClock{})
	if errors.Is(err, tpm2.TPMRCFailure) {
		p.FailureMode, p.CountersMax = true, 0
		return p, nil
	}
	if err != nil {
		return Properties{}, err
	}
	info := clock.CurrentTime.ClockInfo
	p.Clock, p.ResetCount, p.RestartCount = info.Clock, info.ResetCount, info.RestartCount
	p.ClockSafe = bool(info.Safe)
	now, err := l.properties(tpm2.TPMPTPermanent, tpm2.TPMPTNVWriteRecovery)
	if err != nil {
		return Properties{}, err
	}
	permanent := now[tpm2.TPMPTPermanent]
	p.OwnerAuthSet = permanent&permanentOwnerAuth != 0
	p.EndorsementAuthSet = permanent&permanentEndorsementAuth != 0
	p.LockoutAuthSet = permanent&permanentLockoutAuth != 0
	p.InLockout = permanent&permanentInLockout != 0
	p.LockoutCounter, p.MaxAuthFail = now[tpm2.TPMPTLockoutCounter], now[tpm2.TPMPTMaxAuthFail]
	p.Counters, p.CountersAvail = now[tpm2.TPMPTNVCounters], now[tpm2.TPMPTNVCountersAvail]
	p.WriteRecovery = now[tpm2.TPMPTNVWriteRecovery]
	return p, nil
}

// vendorString joins the four words of the vendor string.
func vendorString(fixed map[tpm2.TPMPT]uint32) string {
	var text []byte
	for pt := tpm2.TPMPTVendorString1; pt <= tpm2.TPMPTVendorString4; pt++ {
		text = binary.BigEndian.AppendUint32(text, fixed[pt])
	}
	return strings.TrimRight(string(text), "\x00")
}

// properties reads the properties from first to last. A TPM may answer with a
// part of them, in failure mode with one; those that it leaves out are zero.
func (l *link) properties(first, last tpm2.TPMPT) (map[tpm2.TPMPT]uint32, error) {
	found := make(map[tpm2.TPMPT]uint32)
	for next := first; next <= last; {
		rsp, err := run(l, tpm2.GetCapability{
			Capability: tpm2.TPMCapTPMProperties, Property: uint32(next), PropertyCount: uint32(last - next + 1),
		})
		if err != nil {
			return nil, err
		}
		list, err := rsp.CapabilityData.Data.TPMProperties()
		if err != nil {
			return nil, l.failed(true, err)
		}
		after := next
		for _, p := range list.TPMProperty {
			found[p.Property] = p.Value
			after = max(after, p.Property+1)
		}
		if !rsp.MoreData || after == next {
			break
		}
		next = after
	}
	return found, nil
}
