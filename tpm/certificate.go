package tpm

import (
	"bytes"
	"encoding/binary"
	"errors"

	"github.com/google/go-tpm/tpm2"
)

// certificateIndex is where the certificate of each key lies (TCG EK Credential
// Profile, 2.2.1.4).
var certificateIndex = map[string]tpm2.TPMHandle{
	TemplateRSA: 0x01C00002,
	TemplateECC: 0x01C0000A,
}

const (
	// maxCertificate is four times the longest certificate seen.
	maxCertificate = 8192
	// certificateChunk is what every TPM reads at a time: the least value of
	// TPM_PT_NV_BUFFER_MAX in the PC Client Platform TPM Profile.
	certificateChunk = 512
)

// readCertificate reads the certificate of a key, nil where there is none that
// can be read. Only a lost answer is an error.
func readCertificate(l *link, template string) ([]byte, error) {
	handle := certificateIndex[template]
	der, err := readPublicNV(l, handle)
	if err != nil && (isLost(err) || errors.Is(err, ErrBusy)) {
		return nil, err
	}
	return cutDER(der), nil
}

// readPublicNV reads an index that everybody may read, nil for any other: a
// wrong guess at an authorization could count towards the TPM's lockout.
func readPublicNV(l *link, handle tpm2.TPMHandle) ([]byte, error) {
	rsp, err := run(l, tpm2.NVReadPublic{NVIndex: handle})
	if err != nil {
		return nil, err
	}
	public, err := rsp.NVPublic.Contents()
	if err != nil {
		return nil, l.failed(true, err)
	}
	a := public.Attributes
	if !a.AuthRead || !a.NoDA || !a.Written || a.ReadLocked || public.DataSize > maxCertificate {
		return nil, nil
	}
	index := tpm2.AuthHandle{Handle: handle, Name: rsp.NVName, Auth: tpm2.PasswordAuth(nil)}
	data := make([]byte, 0, public.DataSize)
	for len(data) < int(public.DataSize) {
		size := min(certificateChunk, int(public.DataSize)-len(data))
		rsp, err := run(l, tpm2.NVRead{AuthHandle: index, NVIndex: index, Size: uint16(size), Offset: uint16(len(data))})
		if err != nil {
			return nil, err
		}
		if len(rsp.Data.Buffer) != size {
			return nil, l.failed(true, errors.New("another number of bytes than asked for"))
		}
		data = append(data, rsp.Data.Buffer...)
	}
	return data, nil
}

// What some makers put around a certificate, as TPM 1.2 had it (TCG PC Client
// Implementation Specification 1.21, 7.4.5): TCG_TAG_PCCLIENT_STORED_CERT,
// TCG_PCCLIENT_FULL_CERT_TYPE, two bytes of size, TCG_TAG_PCCLIENT_FULL_CERT.
var (
	storedCertificate = []byte{0x10, 0x01, 0x00}
	fullCertificate   = []byte{0x10, 0x02}
)

// cutDER cuts what begins with a DER SEQUENCE, perhaps in a wrapper, at its outer
// length, since makers pad certificates with zeros or 0xFF; anything else is nil.
// A certificate has more than 255 and less than 65,536 bytes, hence a length of
// two bytes.
func cutDER(data []byte) []byte {
	if inner, ok := bytes.CutPrefix(data, storedCertificate); ok && len(inner) >= 2 {
		data = bytes.TrimPrefix(inner[2:], fullCertificate)
	}
	if len(data) < 4 || data[0] != 0x30 || data[1] != 0x82 {
		return nil
	}
	size := 4 + int(binary.BigEndian.Uint16(data[2:]))
	if size > len(data) {
		return nil
	}
	return data[:size]
}
