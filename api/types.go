package api

import (
	"time"

	"github.com/opmint/opmint/keygen"
)

// Level is the level of the API that this package speaks. It rises when
// something is added; what is there stays as it is.
const Level = 1

// MaxNames is the most names that one request can ask for.
const MaxNames = 1_000_000

// Names is the answer to POST /v1/names.
type Names struct {
	Names []string `json:"names"` // in the format that was asked for, in mint order

	// Class, Identity and Epoch are those of the first name. An answer that
	// outlasts a lease or an epoch goes on in the next; each name in native
	// format carries its own.
	Class    keygen.Class    `json:"class"`    // h, v or j
	Identity keygen.Identity `json:"identity"` // whose names they are
	Epoch    uint64          `json:"epoch"`    // under which they were minted
}

// NameInfo is what a name says, and what the daemon knows of it.
type NameInfo struct {
	Name     keygen.Name     `json:"name"`              // as it was asked for
	Class    keygen.Class    `json:"class"`             // h, v, j or s
	Identity keygen.Identity `json:"identity,omitzero"` // absent in class s
	Epoch    *uint64         `json:"epoch,omitempty"`   // absent in class s
	Seq      *uint64         `json:"seq,omitempty"`     // absent in class s
	Labels   []string        `json:"labels"`            // of a child, outermost first

	// Here says that this daemon knows the epoch as its own; it does not say that
	// the name was handed out.
	Here    bool      `json:"here"`
	Claimed time.Time `json:"claimed,omitzero"` // when the epoch was claimed, in UTC
}

// Describe returns what a name says by itself, without a daemon.
func Describe(name keygen.Name) NameInfo {
	info := NameInfo{Name: name, Class: name.Class(), Labels: append([]string{}, name.Labels()...)}
	if name.Minted() {
		info.Identity, info.Epoch, info.Seq = name.Identity(), new(name.Epoch()), new(name.Seq())
	}
	return info
}

// Identity says whose names a daemon mints, and on what their promise rests.
type Identity struct {
	Class         keygen.Class    `json:"class"`          // of the names minted now: h, v or j
	Assumed       bool            `json:"assumed"`        // the class is the operator's word
	Identity      keygen.Identity `json:"identity"`       // whose names they are
	EKFingerprint string          `json:"ek_fingerprint"` // sha256: and 64 hex digits; see [keygen.NewIdentity]
	Incarnation   string          `json:"incarnation"`    // 64 hex digits; live and die with the NV index
	Minter        string          `json:"minter"`         // 32 hex digits; drawn anew by a renewal
	Epoch         uint64          `json:"epoch"`          // under which they are minted

	// Counter is the NV counter as it was read for this answer; absent if it could
	// not be read.
	Counter *uint64 `json:"counter,omitempty"`
}

// Health is the answer of a daemon that runs.
type Health struct {
	Version string `json:"version"` // of opmintd
	API     int    `json:"api"`     // the [Level] that it speaks
}

// Readiness is the answer of a daemon that can mint. One that cannot answers
// with a [Problem].
type Readiness struct {
	Ready bool `json:"ready"` // always true

	// Warning says what will keep the daemon from minting once the open epoch is
	// used up, such as a TPM that does not answer; empty if nothing will.
	Warning string `json:"warning,omitempty"`
}
