package tpm

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/go-tpm/tpm2"
)

// ekCertificateIndexes are where certificates of endorsement keys lie (TCG EK
// Credential Profile, 2.2.1.4, low range, and 2.2.1.5, high range).
var ekCertificateIndexes = []tpm2.TPMHandle{
	0x01C00002, // RSA 2048, low range
	0x01C0000A, // ECC P-256, low range
	0x01C00012, // RSA 2048
	0x01C00014, // ECC P-256
	0x01C00016, // ECC P-384, where swtpm_setup puts one
	0x01C00018, // ECC P-521
	0x01C0001A, // ECC SM2
	0x01C0001C, // RSA 3072
	0x01C0001E, // RSA 4096
}

// EKCertificates reads what lies where certificates of endorsement keys may be,
// in the order of their indexes, whole: padding, wrapping and garbage included.
// It makes no key and needs no authorization, and it leaves out what everybody
// may not read. Many TPMs have none; an empty list proves nothing.
func (d *Device) EKCertificates(ctx context.Context) ([][]byte, error) {
	var found [][]byte
	err := d.operate(ctx, shortLimit, func(l *link) error {
		found = nil
		for _, handle := range ekCertificateIndexes {
			content, err := readPublicNV(l, handle)
			if err != nil && (isLost(err) || errors.Is(err, ErrBusy)) {
				return err
			}
			if err == nil && len(content) > 0 {
				found = append(found, content)
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the certificates of endorsement keys: %w", err)
	}
	return found, nil
}
