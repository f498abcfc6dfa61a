package tpm

import (
	"context"
	"fmt"

	"github.com/google/go-tpm/tpm2"
)

// NVIndexes lists the handles of all NV indexes that are defined, ascending.
func (d *Device) NVIndexes(ctx context.Context) ([]uint32, error) {
	var found []uint32
	err := d.operate(ctx, shortLimit, func(l *link) error {
		found = nil
		for next := uint32(tpm2.TPMHTNVIndex) << 24; ; {
			rsp, err := run(l, tpm2.GetCapability{
				Capability: tpm2.TPMCapHandles, Property: next, PropertyCount: maxHandles,
			})
			if err != nil {
				return err
			}
			list, err := rsp.CapabilityData.Data.Handles()
			if err != nil {
				return l.failed(true, err)
			}
			before := next
			for _, handle := range list.Handle {
				found = append(found, uint32(handle))
				next = max(next, uint32(handle)+1)
			}
			if !rsp.MoreData || next == before {
				return nil
			}
		}
	})
	if err != nil {
		return nil, fmt.Errorf("list the NV indexes of the TPM: %w", err)
	}
	return found, nil
}
