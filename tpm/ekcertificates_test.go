package tpm

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"testing"

	"github.com/google/go-tpm/tpm2"
)

func TestEKCertificates(t *testing.T) {
	readable := tpm2.TPMANV{AuthRead: true, OwnerRead: true, AuthWrite: true, NoDA: true}
	protected := readable
	protected.NoDA = false
	long := bytes.Repeat([]byte{0xAB}, certificateChunk+1)
	eachTPM(t, func(t *testing.T, r *rig) {
		for _, index := range []struct {
			handle     tpm2.TPMHandle
			attributes tpm2.TPMANV
			content    []byte
		}{
			{0x01C00016, readable, long},
			{0x01C0000A, readable, []byte("garbage")},
			{0x01C00002, protected, []byte("may count towards a lockout")},
			{0x01C00004, readable, []byte("a nonce, no certificate")},
		} {
			r.writeNV(index.handle, index.attributes, index.content)
		}
		got, err := r.dev.EKCertificates(t.Context())
		if want := [][]byte{[]byte("garbage"), long}; err != nil || !slices.EqualFunc(got, want, bytes.Equal) {
			t.Errorf("got %q, %v; want %q", got, err, want)
		}
	})
}

// An answer that is lost does not pass for a TPM without certificates.
func TestEKCertificatesLost(t *testing.T) {
	r := referenceRig(t)
	r.meddle(func(cc tpm2.TPMCC, cmd []byte, next exchange) ([]byte, bool, error) {
		if cc == tpm2.TPMCCNVReadPublic {
			return nil, true, io.ErrUnexpectedEOF
		}
		return next(cmd)
	})
	got, err := r.dev.EKCertificates(t.Context())
	if got != nil || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("got %q, %v", got, err)
	}
}

// writeNV makes an index with the given content, at most a chunk at a time.
func (r *rig) writeNV(handle tpm2.TPMHandle, attributes tpm2.TPMANV, content []byte) {
	r.t.Helper()
	must(r, tpm2.NVDefineSpace{AuthHandle: tpm2.TPMRHOwner, PublicInfo: tpm2.New2B(tpm2.TPMSNVPublic{
		NVIndex: handle, NameAlg: tpm2.TPMAlgSHA256, Attributes: attributes, DataSize: uint16(len(content)),
	})})
	offset := 0
	for chunk := range slices.Chunk(content, certificateChunk) {
		index := tpm2.AuthHandle{
			Handle: handle, Name: must(r, tpm2.NVReadPublic{NVIndex: handle}).NVName, Auth: tpm2.PasswordAuth(nil),
		}
		must(r, tpm2.NVWrite{
			AuthHandle: index, NVIndex: index, Offset: uint16(offset), Data: tpm2.TPM2BMaxNVBuffer{Buffer: chunk},
		})
		offset += len(chunk)
	}
}
