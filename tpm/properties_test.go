package tpm

import (
	"encoding/binary"
	"testing"

	"github.com/google/go-tpm/tpm2"
)

func TestProperties(t *testing.T) {
	const (
		ibm  = 0x49424D00 // "IBM\0"
		xcg  = 0x78434720 // "xCG "
		msft = 0x4D534654
	)
	eachTPM(t, func(t *testing.T, r *rig) {
		p, err := r.dev.Properties(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if p.FailureMode || p.InLockout || p.OwnerAuthSet || p.EndorsementAuthSet || p.LockoutAuthSet ||
			p.Counters != 0 || p.CountersAvail == 0 || p.WriteRecovery != 0 {
			t.Errorf("a new TPM says %+v", p)
		}
		// What these two programs are known to say of themselves.
		if r.soft != nil {
			if p.Manufacturer != ibm || p.VendorString != "SW   TPM" || p.ClockUpdate != 0x1000 ||
				p.SpecRevision != 164 || p.ResetCount == 0 {
				t.Errorf("swtpm 0.7.1 says %+v", p)
			}
		} else if p.Manufacturer != msft && p.Manufacturer != xcg || p.ClockUpdate != 0x1000 || p.VendorString != "xCG fTPM" {
			t.Errorf("the reference TPM says %+v", p)
		}
		c, _ := r.counter()
		r.next(c)
		q, err := r.dev.Properties(t.Context())
		if err != nil || q.Counters != 1 || q.Clock < p.Clock || q.Firmware != p.Firmware {
			t.Errorf("with a counter %+v (%v), before %+v", q, err, p)
		}
	})
}

func TestResetCount(t *testing.T) {
	r := swtpmRig(t)
	before, err := r.dev.Properties(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := r.soft.Restart(); err != nil {
		t.Fatal(err)
	}
	after, err := r.dev.Properties(t.Context())
	if err != nil || after.ResetCount != before.ResetCount+1 {
		t.Errorf("resetCount %d after a restart, %d before (%v)", after.ResetCount, before.ResetCount, err)
	}
}

// capabilities answers TPM2_GetCapability of properties with at most most of
// values, as the reference TPM in failure mode does with most = 1.
func capabilities(cmd []byte, values map[tpm2.TPMPT]uint32, most int) []byte {
	first := binary.BigEndian.Uint32(cmd[headerSize+4:])
	var list []byte
	n, more := 0, byte(0)
	for pt := tpm2.TPMPT(first); pt < 0x300; pt++ {
		value, ok := values[pt]
		switch {
		case !ok:
		case n == most:
			more = 1
		default:
			list = binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(list, uint32(pt)), value)
			n++
		}
	}
	rsp := append(answer(tpm2.TPMRCSuccess), more)
	rsp = binary.BigEndian.AppendUint32(rsp, uint32(tpm2.TPMCapTPMProperties))
	rsp = binary.BigEndian.AppendUint32(rsp, uint32(n))
	return resized(append(rsp, list...))
}

func TestPropertiesInPieces(t *testing.T) {
	values := map[tpm2.TPMPT]uint32{
		tpm2.TPMPTRevision: 138, tpm2.TPMPTManufacturer: 0x4E544300,
		// As a Nuvoton NPCT75x has it: zeros and odd bytes inside.
		tpm2.TPMPTVendorString1: 0x4E504354, tpm2.TPMPTVendorString2: 0x37357800,
		tpm2.TPMPTVendorString3: 0x0200003B, tpm2.TPMPTVendorString4: 0x726C7300,
		tpm2.TPMPTFirmwareVersion1: 0x00070002, tpm2.TPMPTFirmwareVersion2: 2,
		tpm2.TPMPTClockUpdate: 0x80000, tpm2.TPMPTNVCountersMax: 16,
		tpm2.TPMPTPermanent: 0x207, tpm2.TPMPTNVCounters: 3, tpm2.TPMPTLockoutCounter: 5, tpm2.TPMPTMaxAuthFail: 5,
		tpm2.TPMPTNVCountersAvail: 13, tpm2.TPMPTNVWriteRecovery: 4000,
	}
	want := Properties{
		Manufacturer: 0x4E544300, VendorString: "NPCT75x\x00\x02\x00\x00;rls", Firmware: [2]uint32{0x00070002, 2},
		SpecRevision: 138, ClockUpdate: 0x80000, CountersMax: 16, Counters: 3,
		OwnerAuthSet: true, EndorsementAuthSet: true, LockoutAuthSet: true, InLockout: true,
		LockoutCounter: 5, MaxAuthFail: 5, CountersAvail: 13, WriteRecovery: 4000,
	}
	r := referenceRig(t)
	for _, most := range []int{1, 2, 100} {
		r.meddle(func(cc tpm2.TPMCC, cmd []byte, next exchange) ([]byte, bool, error) {
			if cc == tpm2.TPMCCGetCapability && binary.BigEndian.Uint32(cmd[headerSize:]) == uint32(tpm2.TPMCapTPMProperties) {
				return capabilities(cmd, values, most), true, nil
			}
			return next(cmd)
		})
		got, err := r.dev.Properties(t.Context())
		got.Clock, got.ClockSafe, got.ResetCount, got.RestartCount = 0, false, 0, 0
		if err != nil || got != want {
			t.Errorf("%d at a time:\n got %+v (%v)\nwant %+v", most, got, err, want)
		}
	}
}

// TestFailureMode meets a TPM that answers TPM2_GetCapability and nothing else.
func TestFailureMode(t *testing.T) {
	eachTPM(t, func(t *testing.T, r *rig) {
		healthy, err := r.dev.Properties(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		c, _ := r.counter()
		r.meddle(func(cc tpm2.TPMCC, cmd []byte, next exchange) ([]byte, bool, error) {
			if cc == tpm2.TPMCCGetCapability && binary.BigEndian.Uint32(cmd[headerSize:]) == uint32(tpm2.TPMCapTPMProperties) {
				return next(cmd)
			}
			return answer(tpm2.TPMRCFailure), true, nil
		})
		p, err := r.dev.Properties(t.Context())
		if err != nil || !p.FailureMode || p.Manufacturer != healthy.Manufacturer || p.Counters != 0 {
			t.Errorf("in failure mode: %+v, %v", p, err)
		}
		if v, err := c.Next(t.Context()); err == nil {
			t.Errorf("claimed %d in failure mode", v)
		}
	})
}
