package tpm

import (
	"crypto"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/google/go-tpm/tpm2"
	"github.com/google/go-tpm/tpm2/transport"
)

// nonceSize is the size of the nonces of a session: that of its hash.
const nonceSize = sha256.Size

// session is an HMAC session with SHA-256 (TPM 2.0 Part 1, chapter 17). It
// authorizes with one authorization value; its owner decides which command is
// the last one, which ends the session in the TPM too. go-tpm's own sessions
// cannot do that, and cut an authorization value at its first zero byte.
type session struct {
	handle      tpm2.TPMHandle // TPM_RH_NULL once the session has ended
	auth        []byte
	key         []byte // the session key; empty without salt
	nonceCaller []byte
	nonceTPM    []byte
	attributes  tpm2.TPMASession
	proven      bool // the TPM has accepted auth, and proved that it knows it
}

// startSession starts a session that authorizes with auth. With a salt key, a
// loaded decryption key of the TPM, who listens to the bus learns nothing about
// auth, and the first parameter of a command can be encrypted.
func startSession(l *link, auth []byte, salt *loadedKey) (*session, error) {
	s := &session{
		auth:        trimAuth(auth),
		nonceCaller: make([]byte, nonceSize),
		attributes:  tpm2.TPMASession{ContinueSession: true},
	}
	if err := s.NewNonceCaller(); err != nil {
		return nil, err
	}
	cmd := tpm2.StartAuthSession{
		TPMKey: tpm2.TPMRHNull, Bind: tpm2.TPMRHNull,
		NonceCaller: tpm2.TPM2BNonce{Buffer: s.nonceCaller},
		SessionType: tpm2.TPMSEHMAC, AuthHash: tpm2.TPMAlgSHA256,
		Symmetric: tpm2.TPMTSymDef{Algorithm: tpm2.TPMAlgNull},
	}
	var secret []byte
	if salt != nil {
		var encrypted []byte
		var err error
		if secret, encrypted, err = salt.encryptSalt(); err != nil {
			return nil, err
		}
		cmd.TPMKey = salt.handle
		cmd.EncryptedSalt = tpm2.TPM2BEncryptedSecret{Buffer: encrypted}
		cmd.Symmetric = tpm2.TPMTSymDef{
			Algorithm: tpm2.TPMAlgAES,
			KeyBits:   tpm2.NewTPMUSymKeyBits(tpm2.TPMAlgAES, tpm2.TPMKeyBits(128)),
			Mode:      tpm2.NewTPMUSymMode(tpm2.TPMAlgAES, tpm2.TPMAlgCFB),
		}
	}
	rsp, err := run(l, cmd)
	if errors.Is(err, tpm2.TPMRCSessionHandles) && l.flushSaved() {
		rsp, err = run(l, cmd)
	}
	if err != nil {
		return nil, err
	}
	s.handle = rsp.SessionHandle
	s.nonceTPM = rsp.NonceTPM.Buffer
	if salt != nil {
		s.key = tpm2.KDFa(crypto.SHA256, secret, "ATH", s.nonceTPM, s.nonceCaller, sha256.Size*8)
	}
	return s, nil
}

// trimAuth removes trailing zeros, as the TPM does (Part 1, "Authorization Size
// Convention").
func trimAuth(auth []byte) []byte {
	for len(auth) > 0 && auth[len(auth)-1] == 0 {
		auth = auth[:len(auth)-1]
	}
	return auth
}

// endsWithNext makes the next command the last one of the session.
func (s *session) endsWithNext() { s.attributes.ContinueSession = false }

// encryptsNext has the first parameter of the next command encrypted.
func (s *session) encryptsNext() { s.attributes.Decrypt = true }

// close ends the session in the TPM, unless its last command has done so. On a
// lost connection it does nothing: the next one begins by cleaning up.
func (s *session) close(l *link) {
	if s.handle != tpm2.TPMRHNull && l.lost == nil {
		l.flush(s.handle)
	}
}

// sum computes an HMAC of this session (Part 1, "HMAC Computation").
func (s *session) sum(hash, newer, older []byte, attributes tpm2.TPMASession) []byte {
	mac := hmac.New(sha256.New, append(append([]byte(nil), s.key...), s.auth...))
	mac.Write(hash)
	mac.Write(newer)
	mac.Write(older)
	mac.Write(tpm2.Marshal(attributes))
	return mac.Sum(nil)
}

// Authorize implements tpm2.Session.
func (s *session) Authorize(
	cc tpm2.TPMCC, parms, addNonces []byte, names []tpm2.TPM2BName, _ int,
) (*tpm2.TPMSAuthCommand, error) {
	if len(addNonces) > 0 {
		return nil, errors.New("a session beside another one is not supported")
	}
	h := sha256.New()
	h.Write(binary.BigEndian.AppendUint32(nil, uint32(cc)))
	for _, name := range names {
		h.Write(name.Buffer)
	}
	h.Write(parms)
	return &tpm2.TPMSAuthCommand{
		Handle:        s.handle,
		Nonce:         tpm2.TPM2BNonce{Buffer: s.nonceCaller},
		Attributes:    s.attributes,
		Authorization: tpm2.TPM2BData{Buffer: s.sum(h.Sum(nil), s.nonceCaller, s.nonceTPM, s.attributes)},
	}, nil
}

// Validate implements tpm2.Session.
func (s *session) Validate(
	rc tpm2.TPMRC, cc tpm2.TPMCC, parms []byte, _ []tpm2.TPM2BName, _ int, auth *tpm2.TPMSAuthResponse,
) error {
	h := sha256.New()
	h.Write(binary.BigEndian.AppendUint32(nil, uint32(rc)))
	h.Write(binary.BigEndian.AppendUint32(nil, uint32(cc)))
	h.Write(parms)
	want := s.sum(h.Sum(nil), auth.Nonce.Buffer, s.nonceCaller, auth.Attributes)
	if !hmac.Equal(want, auth.Authorization.Buffer) {
		return errors.New("wrong HMAC: the answer is forged or damaged")
	}
	s.nonceTPM, s.proven = auth.Nonce.Buffer, true
	if !auth.Attributes.ContinueSession {
		s.handle = tpm2.TPMRHNull
	}
	return nil
}

// Encrypt implements tpm2.Session (Part 1, "CFB Mode Parameter Encryption").
func (s *session) Encrypt(parameter []byte) error {
	secret := append(append([]byte(nil), s.key...), s.auth...)
	keyIV := tpm2.KDFa(crypto.SHA256, secret, "CFB", s.nonceCaller, s.nonceTPM, (16+aes.BlockSize)*8)
	block, err := aes.NewCipher(keyIV[:16])
	if err != nil {
		return fmt.Errorf("encrypt a parameter: %w", err)
	}
	encryptCFB(block, keyIV[16:], parameter)
	return nil
}

// encryptCFB encrypts data in place, in full-block cipher feedback mode. It
// overwrites iv.
func encryptCFB(block cipher.Block, iv, data []byte) {
	for len(data) > 0 {
		block.Encrypt(iv, iv)
		n := subtle.XORBytes(data, data, iv)
		copy(iv, data[:n])
		data = data[n:]
	}
}

// NewNonceCaller implements tpm2.Session.
func (s *session) NewNonceCaller() error {
	_, err := rand.Read(s.nonceCaller)
	return err
}

// The rest of tpm2.Session: the session is started and ended by its owner, and
// encrypts no answer.

func (s *session) Init(transport.TPM) error           { return nil }
func (s *session) CleanupFailure(transport.TPM) error { return nil }
func (s *session) NonceTPM() tpm2.TPM2BNonce          { return tpm2.TPM2BNonce{Buffer: s.nonceTPM} }
func (s *session) IsEncryption() bool                 { return false }
func (s *session) IsDecryption() bool                 { return s.attributes.Decrypt }
func (s *session) Decrypt([]byte) error               { return nil }
func (s *session) Handle() tpm2.TPMHandle             { return s.handle }
