package keygen

import (
	"crypto/sha256"
)

// identityDigits is the width of an identity: 18 digits, 90 bits.
const identityDigits = 18

// Identity says whose names these are: the first 90 bits of a SHA-256 over an
// endorsement key, the incarnation of an NV index and a minter. Identities are
// comparable with ==; the zero Identity is nobody's.
type Identity struct {
	digits [identityDigits]byte
}

// NewIdentity derives an identity.
//
// ek is the SHA-256 of the endorsement key's SubjectPublicKeyInfo in DER, and
// incarnation the 32 random bytes that live and die with the NV index; both are
// zero without a TPM. minter tells apart daemons (class h) or daemon starts
// (classes v and j) on one TPM.
func NewIdentity(ek, incarnation [32]byte, minter [16]byte) Identity {
	h := sha256.New()
	h.Write([]byte("opmint identity v1\n"))
	h.Write(ek[:])
	h.Write(incarnation[:])
	h.Write(minter[:])
	var id Identity
	putDigits(id.digits[:], h.Sum(nil))
	return id
}

// ParseIdentity reads the 18 digits that [Identity.String] prints. Anything
// else is an [ErrInvalid].
func ParseIdentity(text string) (Identity, error) {
	if len(text) != identityDigits {
		return Identity{}, invalid("an identity has %d digits, not %d", identityDigits, len(text))
	}
	for i := range len(text) {
		if digitValues[text[i]] == notADigit {
			return Identity{}, invalid("identity, column %d: %s", i+1, notDigitReason(text[i:]))
		}
	}
	return Identity{digits: [identityDigits]byte([]byte(text))}, nil
}

// String returns the 18 digits of the identity as they stand in a name, or ""
// for the zero Identity.
func (id Identity) String() string {
	if id.IsZero() {
		return ""
	}
	return string(id.digits[:])
}

// IsZero reports whether id is the zero Identity, which no name carries.
func (id Identity) IsZero() bool { return id == Identity{} }

// MarshalText returns the 18 digits of the identity; the zero Identity has none
// and is an [ErrInvalid].
func (id Identity) MarshalText() ([]byte, error) {
	if id.IsZero() {
		return nil, invalid("the zero Identity has no text")
	}
	return id.digits[:], nil
}

// UnmarshalText is [ParseIdentity].
func (id *Identity) UnmarshalText(text []byte) error {
	parsed, err := ParseIdentity(string(text))
	if err != nil {
		return err
	}
	*id = parsed
	return nil
}
