package tpm

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/google/go-tpm/tpm2"
)

// DefaultIndex is where the counter is, unless the operator chooses another
// place in the range of the owner, FirstIndex to LastIndex (TCG Registry of
// Reserved TPM 2.0 Handles, 2.2.2: assigned to nobody).
const (
	DefaultIndex = 0x01901d01
	FirstIndex   = 0x01800000
	LastIndex    = 0x01BFFFFF
)

// counterSize is the size of an NV counter in bytes.
const counterSize = 8

// index is an NV index of opmint's form, as the TPM shows it.
type index struct {
	handle      tpm2.TPMHandle
	name        tpm2.TPM2BName
	incarnation [secretSize]byte
	written     bool // has been incremented at least once
}

// indexPublic is the public area of an index of opmint's. Nobody can satisfy
// the policy and nothing asks for it: it is 32 bytes that everybody can read,
// that the HMAC of each command covers and that cannot be changed. ORDERLY is
// not set: after TPM2_Clear such a counter begins again at 1.
func indexPublic(handle tpm2.TPMHandle, incarnation [secretSize]byte, written bool) tpm2.TPMSNVPublic {
	return tpm2.TPMSNVPublic{
		NVIndex: handle,
		NameAlg: tpm2.TPMAlgSHA256,
		Attributes: tpm2.TPMANV{
			NT: tpm2.TPMNTCounter, AuthRead: true, AuthWrite: true, OwnerRead: true, NoDA: true, Written: written,
		},
		AuthPolicy: tpm2.TPM2BDigest{Buffer: incarnation[:]},
		DataSize:   counterSize,
	}
}

// findIndex looks at what stands at a handle: nil if nothing does, ErrStranger
// if it has not exactly opmint's form.
func findIndex(l *link, handle tpm2.TPMHandle) (*index, error) {
	rsp, err := run(l, tpm2.NVReadPublic{NVIndex: handle})
	if errors.Is(err, tpm2.TPMRCHandle) {
		l.looked = true
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	public, err := rsp.NVPublic.Contents()
	if err != nil {
		return nil, l.failed(true, err)
	}
	l.looked = true
	found := index{handle: handle, written: public.Attributes.Written}
	copy(found.incarnation[:], public.AuthPolicy.Buffer)
	raw := rsp.NVPublic.Bytes()
	if !bytes.Equal(raw, tpm2.Marshal(indexPublic(handle, found.incarnation, found.written))) {
		return nil, fmt.Errorf("%w: at 0x%08x there is %s; it was left untouched, choose another place with --nv-index",
			ErrStranger, uint32(handle), describe(public))
	}
	name := sha256.Sum256(raw)
	found.name.Buffer = append(binary.BigEndian.AppendUint16(nil, uint16(tpm2.TPMAlgSHA256)), name[:]...)
	return &found, nil
}

// describe says what an index is that is not opmint's.
func describe(public *tpm2.TPMSNVPublic) string {
	kind, ok := map[tpm2.TPMNT]string{
		tpm2.TPMNTOrdinary: "ordinary memory",
		tpm2.TPMNTCounter:  "a counter",
		tpm2.TPMNTBits:     "a bit field",
		tpm2.TPMNTExtend:   "an extended hash",
		tpm2.TPMNTPinFail:  "a PIN",
		tpm2.TPMNTPinPass:  "a PIN",
	}[public.Attributes.NT]
	if !ok {
		kind = "an index of unknown type"
	}
	return fmt.Sprintf("%s of %d bytes with attributes 0x%x and a policy of %d bytes",
		kind, public.DataSize, tpm2.Marshal(public.Attributes), len(public.AuthPolicy.Buffer))
}

// authorize is the handle of the index with a session that authorizes its use.
func (i *index) authorize(s tpm2.Session) tpm2.AuthHandle {
	return tpm2.AuthHandle{Handle: i.handle, Name: i.name, Auth: s}
}

// increment adds one to the counter.
func (i *index) increment(l *link, s *session) error {
	_, err := run(l, tpm2.NVIncrement{AuthHandle: i.authorize(s), NVIndex: i.authorize(s)})
	return i.authError(l, s, err)
}

// read returns the value of the counter.
func (i *index) read(l *link, s *session) (uint64, error) {
	rsp, err := run(l, tpm2.NVRead{AuthHandle: i.authorize(s), NVIndex: i.authorize(s), Size: counterSize})
	if err != nil {
		return 0, i.authError(l, s, err)
	}
	if len(rsp.Data.Buffer) != counterSize {
		return 0, l.failed(true, fmt.Errorf("counter of %d bytes", len(rsp.Data.Buffer)))
	}
	return binary.BigEndian.Uint64(rsp.Data.Buffer), nil
}

// authError explains that the TPM refused the authorization value. If the session
// was good before, it is not the value that is wrong.
func (i *index) authError(l *link, s *session, err error) error {
	if isWrongAuth(err) {
		if s.proven {
			return l.failed(true, err)
		}
		return fmt.Errorf("%w: the index was made with another one than index.auth: %w", ErrAuthLost, err)
	}
	return err
}
