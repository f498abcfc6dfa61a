package tpm

import (
	"bytes"
	"crypto/sha256"
	"crypto/x509"
	"errors"
	"slices"
	"strings"
	"testing"

	legacy "github.com/google/go-tpm/legacy/tpm2"
	"github.com/google/go-tpm/tpm2"
	"github.com/google/go-tpm/tpmutil"
)

// ekPolicy is PolicyA_SHA256, TCG EK Credential Profile, B.6.2.
var ekPolicy = []byte{
	0x83, 0x71, 0x97, 0x67, 0x44, 0x84, 0xB3, 0xF8, 0x1A, 0x90, 0xCC, 0x8D, 0x46, 0xA5, 0xD7, 0x24,
	0xFD, 0x52, 0xD7, 0x6E, 0x06, 0x52, 0x0B, 0x64, 0xF2, 0xA1, 0xDA, 0x1B, 0x33, 0x14, 0x69, 0xAA,
}

// legacyTemplates are the templates of the profile's appendix B.3, in the words
// of go-tpm's older implementation, which shares no code with the one used here.
func legacyTemplates() map[string]legacy.Public {
	attributes := legacy.FlagFixedTPM | legacy.FlagFixedParent | legacy.FlagSensitiveDataOrigin |
		legacy.FlagAdminWithPolicy | legacy.FlagRestricted | legacy.FlagDecrypt
	symmetric := &legacy.SymScheme{Alg: legacy.AlgAES, KeyBits: 128, Mode: legacy.AlgCFB}
	zeros := make(tpmutil.U16Bytes, 32)
	return map[string]legacy.Public{
		TemplateECC: {
			Type: legacy.AlgECC, NameAlg: legacy.AlgSHA256, Attributes: attributes, AuthPolicy: ekPolicy,
			ECCParameters: &legacy.ECCParams{
				Symmetric: symmetric, CurveID: legacy.CurveNISTP256,
				Point: legacy.ECPoint{XRaw: zeros, YRaw: zeros},
			},
		},
		TemplateRSA: {
			Type: legacy.AlgRSA, NameAlg: legacy.AlgSHA256, Attributes: attributes, AuthPolicy: ekPolicy,
			RSAParameters: &legacy.RSAParams{Symmetric: symmetric, KeyBits: 2048, ModulusRaw: make(tpmutil.U16Bytes, 256)},
		},
	}
}

// legacyWire lets go-tpm's older implementation speak over a link.
type legacyWire struct {
	link   *link
	answer bytes.Buffer
}

func (w *legacyWire) Read(p []byte) (int, error) { return w.answer.Read(p) }
func (w *legacyWire) Write(p []byte) (int, error) {
	rsp, err := w.link.Send(p)
	w.answer.Write(rsp)
	return len(p), err
}
func (w *legacyWire) Close() error { return nil }

func TestEndorsementKey(t *testing.T) {
	eachTPM(t, func(t *testing.T, r *rig) {
		for name, template := range legacyTemplates() {
			var want []byte
			r.raw(func(l *link) {
				w := &legacyWire{link: l}
				h, key, err := legacy.CreatePrimary(w, legacy.HandleEndorsement, legacy.PCRSelection{}, "", "", template)
				if err != nil {
					t.Fatal(err)
				}
				l.flush(tpm2.TPMHandle(h))
				if want, err = x509.MarshalPKIXPublicKey(key); err != nil {
					t.Fatal(err)
				}
			})
			for range 2 {
				ek, err := r.dev.EndorsementKey(t.Context(), EKOptions{Template: name})
				if err != nil {
					t.Fatal(err)
				}
				if ek.Template != name || !bytes.Equal(ek.PublicKey, want) || ek.Fingerprint != sha256.Sum256(want) {
					t.Errorf("key %+v, want %s %x", ek, name, want)
				}
				if ek.Certificate != nil {
					t.Errorf("certificate %x of a TPM that has none", ek.Certificate)
				}
			}
		}
		if ek, err := r.dev.EndorsementKey(t.Context(), EKOptions{}); err != nil || ek.Template != TemplateECC {
			t.Errorf("by default %s (%v)", ek.Template, err)
		}
		if _, err := r.dev.EndorsementKey(t.Context(), EKOptions{Template: "ecc-p384"}); err == nil {
			t.Error("a template that does not exist was taken")
		}
	})
}

// refuseECC answers the creation of any ECC key with an error code.
func refuseECC(rc tpm2.TPMRC) hook {
	ecc := tpm2.Marshal(tpm2.ECCEKTemplate)
	return func(cc tpm2.TPMCC, cmd []byte, next exchange) ([]byte, bool, error) {
		if cc == tpm2.TPMCCCreatePrimary && bytes.Contains(cmd, ecc) {
			return answer(rc), true, nil
		}
		return next(cmd)
	}
}

func TestNoECC(t *testing.T) {
	const parameter2 = 0x2C0 // P and N = 2 of a format-one code
	eachTPM(t, func(t *testing.T, r *rig) {
		rsa, err := r.dev.EndorsementKey(t.Context(), EKOptions{Template: TemplateRSA})
		if err != nil {
			t.Fatal(err)
		}
		for _, rc := range []tpm2.TPMRC{
			tpm2.TPMRCAsymmetric, tpm2.TPMRCCurve, tpm2.TPMRCValue, tpm2.TPMRCType, tpm2.TPMRCScheme,
			tpm2.TPMRCCurve | parameter2, tpm2.TPMRCAsymmetric | parameter2, tpm2.TPMRCValue | parameter2,
		} {
			r.meddle(refuseECC(rc))
			ek, err := r.dev.EndorsementKey(t.Context(), EKOptions{})
			if err != nil || ek.Template != TemplateRSA || ek.Fingerprint != rsa.Fingerprint {
				t.Errorf("no ECC (%v): %s %x, %v", rc, ek.Template, ek.Fingerprint, err)
			}
			if _, err := r.dev.EndorsementKey(t.Context(), EKOptions{Template: TemplateECC}); !errors.Is(err, rc) {
				t.Errorf("no ECC (%v), ECC wanted: %v", rc, err)
			}
		}
		// The salted session works with RSA, too.
		c, _ := r.counter()
		r.next(c)
		if err := c.Undefine(t.Context()); err != nil {
			t.Error(err)
		}
		for _, rc := range []tpm2.TPMRC{
			tpm2.TPMRCFailure, tpm2.TPMRCObjectMemory, tpm2.TPMRCHierarchy, tpm2.TPMRCLockout, tpm2.TPMRCBadAuth,
		} {
			r.meddle(refuseECC(rc))
			if ek, err := r.dev.EndorsementKey(t.Context(), EKOptions{}); !errors.Is(err, rc) {
				t.Errorf("ECC that fails with %v: got the key %s (%v), which is another identity", rc, ek.Template, err)
			}
		}
	})
}

// TestForeignKey has the TPM answer with a key that was not asked for.
func TestForeignKey(t *testing.T) {
	eachTPM(t, func(t *testing.T, r *rig) {
		other := tpm2.ECCSRKTemplate
		r.meddle(func(cc tpm2.TPMCC, cmd []byte, next exchange) ([]byte, bool, error) {
			if cc != tpm2.TPMCCCreatePrimary {
				return next(cmd)
			}
			var rsp []byte
			_, err := tpm2.CreatePrimary{
				PrimaryHandle: tpm2.TPMRHOwner, InPublic: tpm2.New2B(other),
			}.Execute(sendFunc(func(cmd []byte) ([]byte, error) {
				var err error
				rsp, _, err = next(cmd)
				return rsp, err
			}))
			return rsp, true, err
		})
		for _, template := range []string{TemplateECC, TemplateRSA} {
			_, err := r.dev.EndorsementKey(t.Context(), EKOptions{Template: template})
			var failed *CommandError
			if !errors.As(err, &failed) || failed.Command != "TPM2_CreatePrimary" || !strings.Contains(err.Error(), template) {
				t.Errorf("another key for %s: %v", template, err)
			}
		}
	})
}

// TestUnusableKey salts a session with a key with which nothing can be encrypted.
func TestUnusableKey(t *testing.T) {
	public := tpm2.RSAEKTemplate // its modulus is zero
	_, _, err := (&loadedKey{public: public}).encryptSalt()
	if err == nil || !strings.HasPrefix(err.Error(), "salt a session: ") {
		t.Errorf("a modulus of zero: %v", err)
	}
}

type sendFunc func([]byte) ([]byte, error)

func (f sendFunc) Send(cmd []byte) ([]byte, error) { return f(cmd) }

func TestCertificate(t *testing.T) {
	der := append([]byte{0x30, 0x82, 0x04, 0x00}, bytes.Repeat([]byte{0xAB}, 0x400)...)
	readable := tpm2.TPMANV{AuthRead: true, OwnerRead: true, AuthWrite: true, NoDA: true}
	protected := readable
	protected.NoDA = false
	unreadable := readable
	unreadable.AuthRead = false
	for _, test := range []struct {
		name       string
		content    []byte
		attributes tpm2.TPMANV
		want       []byte
	}{
		{"exact", der, readable, der},
		{"padded with 0xFF", append(slices.Clone(der), bytes.Repeat([]byte{0xFF}, 300)...), readable, der},
		{"padded with zeros", append(slices.Clone(der), make([]byte, 1)...), readable, der},
		{"wrapped as in TPM 1.2", append([]byte{0x10, 0x01, 0x00, 0x04, 0x06, 0x10, 0x02}, der...), readable, der},
		{"wrapped without a kind", append([]byte{0x10, 0x01, 0x00, 0x04, 0x04}, der...), readable, der},
		{"half a wrapper", []byte{0x10, 0x01, 0x00, 0x04}, readable, nil},
		{"truncated", der[:len(der)-1], readable, nil},
		{"empty", nil, readable, nil},
		{"short", der[:3], readable, nil},
		{"garbage", bytes.Repeat([]byte{0x5A}, 100), readable, nil},
		{"short form of the length", append([]byte{0x30, 0x10}, make([]byte, 16)...), readable, nil},
		{"may count towards a lockout", der, protected, nil},
		{"not for everybody", der, unreadable, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			eachTPM(t, func(t *testing.T, r *rig) {
				for template, handle := range certificateIndex {
					r.storeNV(handle, test.attributes, test.content)
					ek, err := r.dev.EndorsementKey(t.Context(), EKOptions{Template: template})
					if err != nil || !bytes.Equal(ek.Certificate, test.want) {
						t.Errorf("%s: certificate %x, want %x (%v)", template, ek.Certificate, test.want, err)
					}
				}
			})
		})
	}
}

// storeNV makes an index with the given content.
func (r *rig) storeNV(handle tpm2.TPMHandle, attributes tpm2.TPMANV, content []byte) {
	r.t.Helper()
	must(r, tpm2.NVDefineSpace{AuthHandle: tpm2.TPMRHOwner, PublicInfo: tpm2.New2B(tpm2.TPMSNVPublic{
		NVIndex: handle, NameAlg: tpm2.TPMAlgSHA256, Attributes: attributes, DataSize: uint16(len(content)),
	})})
	for offset := 0; offset < len(content) || offset == 0; offset += certificateChunk {
		index := tpm2.AuthHandle{
			Handle: handle, Name: must(r, tpm2.NVReadPublic{NVIndex: handle}).NVName, Auth: tpm2.PasswordAuth(nil),
		}
		must(r, tpm2.NVWrite{
			AuthHandle: index, NVIndex: index, Offset: uint16(offset),
			Data: tpm2.TPM2BMaxNVBuffer{Buffer: content[offset:min(len(content), offset+certificateChunk)]},
		})
	}
}
