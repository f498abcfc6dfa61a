package journal

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/opmint/opmint/keygen"
	"github.com/opmint/opmint/store"
)

// record is what a value of the store holds.
type record interface {
	// valid says what is wrong with a record that is spelled right, or nil.
	valid() error
}

// encode returns the one spelling of r.
func encode(r record) ([]byte, error) {
	if err := r.valid(); err != nil {
		return nil, err
	}
	return json.Marshal(r)
}

// decode reads into r what encode returned. Anything else is a store.ErrDamaged.
func decode(data []byte, r record) error {
	if err := json.Unmarshal(data, r); err != nil {
		return fmt.Errorf("%w: %w", store.ErrDamaged, err)
	}
	again, err := encode(r)
	if err != nil {
		return fmt.Errorf("%w: %w", store.ErrDamaged, err)
	}
	// Unknown and repeated fields, other capitals, white space.
	if !bytes.Equal(again, data) {
		return fmt.Errorf("%w: %.200q is not how opmint spells a record", store.ErrDamaged, data)
	}
	return nil
}

// head is the record that there is one of.
type head struct {
	Since     time.Time       `json:"since"`
	Highest   uint64          `json:"highest"`             // epoch, of all that ever were
	Epochs    uint64          `json:"epochs"`              // how many were ever added
	Rollbacks map[What]uint64 `json:"rollbacks,omitempty"` // likewise, of each kind
}

func (h *head) valid() error {
	for what, n := range h.Rollbacks {
		if !what.known() || n == 0 {
			return fmt.Errorf("%d rollbacks of kind %.40q", n, what)
		}
	}
	if h.Highest > keygen.MaxEpoch || (h.Epochs == 0) != (h.Highest == 0) {
		return fmt.Errorf("%d epochs up to number %d", h.Epochs, h.Highest)
	}
	return validTime(h.Since)
}

// counterRecord is what is known of a TPM's counter.
type counterRecord struct {
	EK     string `json:"ek"`               // with which it was seen last
	Minter string `json:"minter,omitempty"` // of the last epoch in class h
	// Seen is the highest value that the counter is known to have had; after a
	// rollback, since then.
	Seen     uint64 `json:"seen"`
	Claiming bool   `json:"claiming,omitempty"` // a claim may be under way, begun at Seen
	Demoted  bool   `json:"demoted,omitempty"`  // it went back once
}

func (c *counterRecord) valid() error {
	if c.Seen > keygen.MaxEpoch {
		return fmt.Errorf("counter at %d: at most %d", c.Seen, keygen.MaxEpoch)
	}
	if c.Minter != "" {
		if err := readHex(c.Minter, make([]byte, 16)); err != nil {
			return err
		}
	}
	return readHex(c.EK, make([]byte, 32))
}

// compare says what went back if the counter shows value, and what was expected
// at least (tpm) or at most (journal); or nothing.
func (c *counterRecord) compare(value uint64) (What, uint64) {
	most := c.Seen
	if c.Claiming {
		most += MaxTries
	}
	switch {
	case value < c.Seen:
		return WhatTPM, c.Seen
	case value > most:
		return WhatJournal, most
	}
	return "", 0
}

// minter returns the minter, or zero if there is none.
func (c *counterRecord) minter() (minter [16]byte) {
	// A valid record has nothing else.
	_ = readHex(c.Minter, minter[:])
	return minter
}

// epochRecord is an epoch that was claimed.
type epochRecord struct {
	Epoch       uint64          `json:"epoch"`
	Class       keygen.Class    `json:"class"`
	Identity    keygen.Identity `json:"identity"`
	Reason      string          `json:"reason"`
	Claimed     time.Time       `json:"claimed"`
	Minter      string          `json:"minter"`
	EK          string          `json:"ek,omitempty"`
	Incarnation string          `json:"incarnation,omitempty"`
	Counter     uint64          `json:"counter,omitempty"` // the TPM counter's value
	Seen        Seen            `json:"seen"`
}

func (e *epochRecord) valid() error {
	if e.Epoch < 1 || e.Epoch > keygen.MaxEpoch {
		return fmt.Errorf("epoch %d: must be 1 to %d", e.Epoch, keygen.MaxEpoch)
	}
	if e.Class == keygen.ClassS || (e.Class == keygen.ClassJ) != (e.EK == "") {
		return fmt.Errorf("class %s with endorsement key %.80q", e.Class, e.EK)
	}
	if err := e.validIdentity(); err != nil {
		return err
	}
	if err := validReason(e.Reason); err != nil {
		return err
	}
	return cmp.Or(e.Seen.valid(), validTime(e.Claimed))
}

// validIdentity derives the identity again.
func (e *epochRecord) validIdentity() error {
	var ek, incarnation [32]byte
	var minter [16]byte
	if e.EK != "" || e.Incarnation != "" {
		if err := cmp.Or(readHex(e.EK, ek[:]), readHex(e.Incarnation, incarnation[:])); err != nil {
			return err
		}
	}
	if err := readHex(e.Minter, minter[:]); err != nil {
		return err
	}
	if id := keygen.NewIdentity(ek, incarnation, minter); e.Identity != id {
		return fmt.Errorf("identity %s where %s belongs", e.Identity, id)
	}
	return nil
}

// slotRecord says which epoch is in a slot.
type slotRecord struct {
	Identity keygen.Identity `json:"identity"`
	Epoch    uint64          `json:"epoch"`
}

func (s *slotRecord) valid() error {
	if s.Epoch > keygen.MaxEpoch {
		return fmt.Errorf("epoch %d: at most %d", s.Epoch, keygen.MaxEpoch)
	}
	return nil
}

// maxText is the most bytes of a text in a Seen.
const maxText = 256

// Seen is what was seen of the machine when an epoch was claimed, for people who
// look into a case afterwards; no conclusion is drawn from it here. Zero means
// not seen. Texts are cut at 256 bytes.
type Seen struct {
	Clock        uint64 `json:"clock,omitempty"`         // of the TPM, in milliseconds (TPM 2.0 Part 2, TPMS_CLOCK_INFO)
	ResetCount   uint32 `json:"reset_count,omitempty"`   // of the TPM, likewise
	RestartCount uint32 `json:"restart_count,omitempty"` // of the TPM, likewise
	BootID       string `json:"boot_id,omitempty"`       // /proc/sys/kernel/random/boot_id
	Verdict      string `json:"verdict,omitempty"`       // on TPM and host, in a few words
}

// tidy makes the texts such as can be stored: none of them is worth refusing to
// mint.
func (s Seen) tidy() Seen {
	s.BootID, s.Verdict = tidyText(s.BootID), tidyText(s.Verdict)
	return s
}

func tidyText(text string) string {
	return strings.ToValidUTF8(text[:min(len(text), maxText)], "")
}

func (s Seen) valid() error {
	for _, text := range []string{s.BootID, s.Verdict} {
		if len(text) > maxText || !utf8.ValidString(text) {
			return fmt.Errorf("text %.80q: must be UTF-8 of at most %d bytes", text, maxText)
		}
	}
	return nil
}

// readHex fills value from lower case hexadecimal.
func readHex(text string, value []byte) error {
	raw, err := hex.DecodeString(text)
	if err != nil || len(raw) != len(value) || hex.EncodeToString(raw) != text {
		return fmt.Errorf("%.80q is not %d bytes in hexadecimal", text, len(value))
	}
	copy(value, raw)
	return nil
}

// validReason wants a word, so that reasons can be listed and compared.
func validReason(reason string) error {
	if len(reason) < 1 || len(reason) > 32 || strings.Trim(reason, "abcdefghijklmnopqrstuvwxyz-") != "" {
		return fmt.Errorf("reason %.40q: must be 1 to 32 of a-z and '-'", reason)
	}
	return nil
}

func validTime(t time.Time) error {
	if t.Location() != time.UTC {
		return fmt.Errorf("time %v is not UTC", t)
	}
	return nil
}
