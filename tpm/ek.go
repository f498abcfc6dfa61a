package tpm

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"errors"
	"fmt"

	"github.com/google/go-tpm/tpm2"
)

// The templates of an endorsement key: those of the TCG EK Credential Profile,
// B.3.4 (low range L-2) and B.3.3 (L-1). Another template, even one that only
// differs in its empty `unique` field, is another key.
const (
	TemplateECC = "ecc-p256"
	TemplateRSA = "rsa-2048"
)

// EKOptions says how the endorsement key is made.
type EKOptions struct {
	// Template is TemplateECC or TemplateRSA. Empty means ECC, or RSA if the
	// TPM has no ECC; whoever keeps the choice asks for the same key each time.
	Template string
	// Auth is the authorization value of the endorsement hierarchy; empty is
	// what it is as long as nobody has set one.
	Auth []byte
}

// EK is an endorsement key: what tells this TPM from all others.
type EK struct {
	Template    string   // TemplateECC or TemplateRSA
	PublicKey   []byte   // SubjectPublicKeyInfo in DER
	Fingerprint [32]byte // SHA-256 of PublicKey
	// Certificate is the maker's certificate of the key in DER, as it lies in
	// the TPM's NV memory, cut at its outer length and not checked any further.
	// Many TPMs have none: nil proves nothing.
	Certificate []byte
}

// EndorsementKey makes the endorsement key, which is the same each time, and
// reads its certificate. On a chip it takes up to some seconds; it is bounded
// by 6 minutes. The key is not left in the TPM. Endorsement authorization that
// is wrong is ErrEndorsementAuth.
func (d *Device) EndorsementKey(ctx context.Context, opts EKOptions) (EK, error) {
	var ek EK
	err := d.operate(ctx, longLimit, func(l *link) error {
		key, err := loadEK(l, opts)
		if err != nil {
			return err
		}
		l.flush(key.handle)
		ek = EK{Template: key.template, PublicKey: key.spki, Fingerprint: sha256.Sum256(key.spki)}
		ek.Certificate, err = readCertificate(l, key.template)
		return err
	})
	if err != nil {
		return EK{}, fmt.Errorf("make the endorsement key: %w", err)
	}
	return ek, nil
}

// ekTemplate is a template with what to expect of keys made from it.
type ekTemplate struct {
	name   string
	public tpm2.TPMTPublic
	unique int // bytes of the key at the end of its public area
}

// ekTemplates are the templates in the order in which they are tried.
var ekTemplates = []ekTemplate{
	{TemplateECC, tpm2.ECCEKTemplate, 2 * (2 + 32)},
	{TemplateRSA, tpm2.RSAEKTemplate, 2 + 256},
}

// loadedKey is a key in the TPM's memory; its owner flushes it.
type loadedKey struct {
	template string
	handle   tpm2.TPMHandle
	public   tpm2.TPMTPublic
	spki     []byte
}

// loadEK makes the endorsement key and leaves it loaded.
func loadEK(l *link, opts EKOptions) (*loadedKey, error) {
	err := fmt.Errorf("no template %q: want %s or %s", opts.Template, TemplateECC, TemplateRSA)
	for _, template := range ekTemplates {
		if opts.Template != "" && opts.Template != template.name {
			continue
		}
		var key *loadedKey
		if key, err = createEK(l, template, opts.Auth); err == nil {
			return key, nil
		}
		if !isUnsupported(err) {
			return nil, err
		}
		err = fmt.Errorf("%w: %s: %w", ErrUnsupportedKey, template.name, err)
	}
	return nil, err
}

// isUnsupported reports whether a TPM said that it cannot make such a key at
// all. Any other error must not lead to another key: it would be another
// identity.
func isUnsupported(err error) bool {
	for _, rc := range []tpm2.TPMRC{
		tpm2.TPMRCAsymmetric, tpm2.TPMRCCurve, tpm2.TPMRCValue, tpm2.TPMRCType,
		tpm2.TPMRCScheme, tpm2.TPMRCKDF, tpm2.TPMRCSymmetric,
	} {
		if errors.Is(err, rc) {
			return true
		}
	}
	return false
}

func createEK(l *link, template ekTemplate, auth []byte) (*loadedKey, error) {
	parent := tpm2.AuthHandle{Handle: tpm2.TPMRHEndorsement, Auth: tpm2.PasswordAuth(nil)}
	if len(auth) > 0 {
		// Never a password session, which would show it on the bus.
		s, err := startSession(l, auth, nil)
		if err != nil {
			return nil, err
		}
		defer s.close(l)
		s.endsWithNext()
		parent.Auth = s
	}
	rsp, err := run(l, tpm2.CreatePrimary{PrimaryHandle: parent, InPublic: tpm2.New2B(template.public)})
	if isWrongAuth(err) {
		return nil, fmt.Errorf("%w (give the right one with --endorsement-auth-file): %w", ErrEndorsementAuth, err)
	}
	if err != nil {
		return nil, err
	}
	key := &loadedKey{template: template.name, handle: rsp.ObjectHandle}
	if err := key.parse(template, &rsp.OutPublic); err != nil {
		err = l.failed(true, err) // which names the command sent last
		l.flush(key.handle)
		return nil, err
	}
	return key, nil
}

// parse takes over the public key, which must be what template asks for.
func (k *loadedKey) parse(template ekTemplate, out *tpm2.TPM2BPublic) error {
	want := tpm2.Marshal(template.public)
	want = want[:len(want)-template.unique]
	if !bytes.HasPrefix(out.Bytes(), want) {
		return fmt.Errorf("the key is not what the template %s asks for", template.name)
	}
	public, err := out.Contents()
	if err != nil {
		return err
	}
	key, err := tpm2.Pub(*public)
	if err != nil {
		return err
	}
	k.public = *public
	k.spki, err = x509.MarshalPKIXPublicKey(key)
	return err
}

// encryptSalt draws a secret that only the TPM with this key can decrypt.
func (k *loadedKey) encryptSalt() (secret, encrypted []byte, err error) {
	key, err := tpm2.ImportEncapsulationKey(&k.public)
	if err != nil {
		return nil, nil, fmt.Errorf("salt a session: %w", err)
	}
	secret, encrypted, err = tpm2.CreateEncryptedSalt(rand.Reader, key)
	if err != nil {
		return nil, nil, fmt.Errorf("salt a session: %w", err)
	}
	return secret, encrypted, nil
}
