package tpm

import (
	"slices"
	"testing"

	"github.com/google/go-tpm/tpm2"
)

// TestNVIndexes defines more indexes than one command lists, where there is room.
func TestNVIndexes(t *testing.T) {
	eachTPM(t, func(t *testing.T, r *rig) {
		count := uint32(10)
		if r.soft != nil {
			count = maxHandles + 2
		}
		var want []uint32
		for i := range count {
			handle := FirstIndex + i
			want = append(want, handle)
			must(r, tpm2.NVDefineSpace{AuthHandle: tpm2.TPMRHOwner, PublicInfo: tpm2.New2B(tpm2.TPMSNVPublic{
				NVIndex: tpm2.TPMHandle(handle), NameAlg: tpm2.TPMAlgSHA256, DataSize: 8,
				Attributes: tpm2.TPMANV{OwnerRead: true, OwnerWrite: true, NoDA: true},
			})})
		}
		got, err := r.dev.NVIndexes(t.Context())
		got = slices.DeleteFunc(got, func(handle uint32) bool { return handle > LastIndex })
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("listed %x, %v, want %x", got, err, want)
		}
	})
}
