package tpm

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/google/go-tpm/tpm2"
)

// A hostile TPM follows a script: for each command a step of 3 bytes, kind and
// length, and as many bytes. After the script it is honest.
type hostile struct {
	script []byte
	auth   []byte // of the index: a TPM knows it
	signed bool   // it has used it for an answer of its own
}

const (
	honest  = iota // the true answer
	raw            // these bytes
	body           // these bytes under a good header
	flipped        // the true answer, with these bytes added to it bit by bit
	signed         // these bytes as parameters, with a good HMAC
	kinds
)

func (h *hostile) hook(_ tpm2.TPMCC, cmd []byte, next exchange) ([]byte, bool, error) {
	kind, data := byte(honest), []byte(nil)
	if len(h.script) >= 3 {
		kind = h.script[0] % kinds
		size := min(int(binary.BigEndian.Uint16(h.script[1:])), len(h.script)-3)
		data, h.script = h.script[3:3+size], h.script[3+size:]
	}
	switch kind {
	case raw:
		return data, true, nil
	case body:
		return success(cmd, data), true, nil
	case signed:
		if binary.BigEndian.Uint16(cmd) == uint16(tpm2.TPMSTSessions) {
			h.signed = true
			return h.sign(cmd, data), true, nil
		}
	}
	rsp, sent, err := next(cmd)
	if kind == flipped {
		rsp = slices.Clone(rsp)
		for i := range min(len(rsp), len(data)) {
			rsp[len(rsp)-1-i] ^= data[i]
		}
	}
	return rsp, sent, err
}

// sign makes an answer to a command of a claim as only the TPM can.
func (h *hostile) sign(cmd, parameters []byte) []byte {
	const handles = headerSize + 8 // two handles, then the authorization area
	nonce := cmd[min(len(cmd), handles+4+4+2):]
	s := session{auth: trimAuth(h.auth), nonceCaller: nonce[:min(len(nonce), nonceSize)]}
	hash := sha256.New()
	hash.Write(make([]byte, 4))
	hash.Write(cmd[6:headerSize])
	hash.Write(parameters)
	nonceTPM := make([]byte, nonceSize)
	mac := s.sum(hash.Sum(nil), nonceTPM, s.nonceCaller, tpm2.TPMASession{ContinueSession: true})
	rsp := append([]byte{0x80, 0x02}, answer(tpm2.TPMRCSuccess)[2:]...)
	rsp = binary.BigEndian.AppendUint32(rsp, uint32(len(parameters)))
	rsp = append(rsp, parameters...)
	rsp = append(append(rsp, 0, nonceSize), nonceTPM...)
	rsp = append(append(rsp, 1, 0, byte(len(mac))), mac...)
	return resized(rsp)
}

// FuzzTPMResponse lets each command of this package be answered with success
// and any bytes: nothing crashes, and no session accepts them.
func FuzzTPMResponse(f *testing.F) {
	seedWithAnswers(f)
	f.Fuzz(func(t *testing.T, kind byte, data []byte) {
		l := &link{ctx: context.Background(), wire: borrowed(func(cmd []byte) ([]byte, bool, error) {
			return success(cmd, data), true, nil
		})}
		s := &session{handle: 0x02000000, auth: []byte{1}, nonceCaller: make([]byte, nonceSize)}
		idx := &index{handle: DefaultIndex, name: tpm2.TPM2BName{Buffer: []byte{1}}}
		switch kind % 7 {
		case 0:
			if idx, err := findIndex(l, DefaultIndex); err == nil && idx.handle != DefaultIndex {
				t.Errorf("index %x", idx.handle)
			}
		case 1:
			if s, err := startSession(l, nil, nil); err == nil {
				s.close(l)
			}
		case 2:
			if v, err := idx.read(l, s); err == nil {
				t.Errorf("read %d out of nothing", v)
			}
		case 3:
			if err := idx.increment(l, s); !errors.Is(err, ErrOutcomeUnknown) {
				t.Errorf("increment: %v", err)
			}
		case 4:
			for _, template := range ekTemplates {
				if key, err := createEK(l, template, nil); err == nil {
					_, _, _ = key.encryptSalt()
				}
			}
		case 5:
			if _, err := readProperties(l); err == nil && len(data) < headerSize {
				t.Error("properties out of nothing")
			}
		case 6:
			_, _ = readCertificate(l, TemplateECC)
		}
	})
}

// seedWithAnswers adds what an honest TPM answers to most commands.
func seedWithAnswers(f *testing.F) {
	r := referenceRig(f)
	var answers [][]byte
	r.meddle(func(_ tpm2.TPMCC, cmd []byte, next exchange) ([]byte, bool, error) {
		rsp, sent, err := next(cmd)
		if err == nil && len(rsp) > headerSize {
			answers = append(answers, slices.Clone(rsp[headerSize:]))
		}
		return rsp, sent, err
	})
	r.counter()
	if _, err := r.dev.EndorsementKey(context.Background(), EKOptions{Template: TemplateRSA}); err != nil {
		f.Fatal(err)
	}
	if _, err := r.dev.Properties(context.Background()); err != nil {
		f.Fatal(err)
	}
	for _, a := range answers {
		for kind := range byte(7) {
			f.Add(kind, a)
		}
	}
}

// success is an answer to cmd with the given content.
func success(cmd, content []byte) []byte {
	rsp := answer(tpm2.TPMRCSuccess)
	copy(rsp, cmd[:2])
	return resized(append(rsp, content...))
}

// FuzzHostileTPM asks a hostile TPM everything there is to ask. Nothing may
// crash, hang or go on for ever, and as long as it does not use the
// authorization value, which nobody else has, no value is owned that is not.
func FuzzHostileTPM(f *testing.F) {
	step := func(kind byte, data ...byte) []byte {
		return append([]byte{kind, byte(len(data) >> 8), byte(len(data))}, data...)
	}
	f.Add([]byte(nil))
	f.Add(step(raw))
	f.Add(step(raw, answer(tpm2.TPMRCRetry)...))
	f.Add(step(body, make([]byte, 300)...))
	f.Add(bytes.Repeat(step(flipped, 1), 60))
	f.Add(bytes.Repeat(step(signed, 0, 8, 0, 0, 0, 0, 0, 0, 0, 1), 60))
	r := referenceRig(f)
	c, dir := r.counter()
	auth := c.auth
	f.Fuzz(func(t *testing.T, data []byte) {
		r.t = t
		for i, ask := range []func(*Counter) (uint64, error){
			func(c *Counter) (uint64, error) { return c.Next(context.Background()) },
			func(c *Counter) (uint64, error) { return 0, c.Define(context.Background()) },
			func(c *Counter) (uint64, error) { _, err := c.Status(context.Background()); return 0, err },
			func(c *Counter) (uint64, error) { _, err := c.device.Properties(context.Background()); return 0, err },
			func(c *Counter) (uint64, error) {
				_, err := c.device.EndorsementKey(context.Background(), EKOptions{})
				return 0, err
			},
		} {
			synctest.Test(t, func(t *testing.T) {
				before, err := r.newCounter(dir).Read(context.Background())
				if err != nil {
					t.Fatal(err)
				}
				h := &hostile{script: data, auth: auth}
				r.meddle(h.hook)
				v, err := ask(r.newCounter(dir))
				r.meddle(nil)
				now, readErr := r.newCounter(dir).Read(context.Background())
				if readErr != nil {
					t.Fatal(readErr)
				}
				if i == 0 && err == nil && !h.signed && (v <= before || v != now) {
					t.Errorf("owned %d of a counter that went from %d to %d", v, before, now)
				}
			})
		}
	})
}

// FuzzCutDER holds the cut of certificates to its promise.
func FuzzCutDER(f *testing.F) {
	f.Add([]byte{0x30, 0x82, 0, 1, 7, 0xFF})
	f.Fuzz(func(t *testing.T, data []byte) {
		der := cutDER(data)
		if der != nil && (!bytes.HasPrefix(data, der) || len(der) != 4+int(der[2])<<8+int(der[3])) {
			t.Errorf("cut %x out of %x", der, data)
		}
	})
}
