package api

import (
	"time"

	"github.com/opmint/opmint/ledger"
)

// BeginRequest is the body of PUT /v1/operations/{scope}/{name}; see
// [ledger.Attempt].
type BeginRequest struct {
	Holder      string             `json:"holder"`               // tells this attempt apart: a random string, the same in a repeat
	Fingerprint ledger.Fingerprint `json:"fingerprint,omitzero"` // of the payload; absent: none
	Lease       Duration           `json:"lease,omitzero"`       // 1ms to 24h; absent: 30s
	Orphan      ledger.Orphan      `json:"orphan,omitempty"`     // reject or retry; absent: reject
}

// ExtendRequest is the body of POST /v1/operations/{scope}/{name}/extend.
type ExtendRequest struct {
	Holder string   `json:"holder"` // of the attempt
	Fence  uint64   `json:"fence"`  // of its answer
	Lease  Duration `json:"lease"`  // from now on, 1ms to 24h
}

// FinishRequest is the body of POST /v1/operations/{scope}/{name}/finish.
type FinishRequest struct {
	Holder  string       `json:"holder"`           // of the attempt
	Fence   uint64       `json:"fence"`            // of its answer
	Outcome ledger.State `json:"outcome"`          // applied, failed (which means: not applied) or unknown
	Result  *Result      `json:"result,omitempty"` // for those who repeat the operation
}

// SettleRequest is the body of POST /v1/operations/{scope}/{name}/settle.
type SettleRequest struct {
	Outcome ledger.State `json:"outcome"`          // applied or failed
	Result  *Result      `json:"result,omitempty"` // absent: that of the finish, if there was one
}

func (r BeginRequest) texts() []string { return []string{r.Holder} }

func (r ExtendRequest) texts() []string { return []string{r.Holder} }

func (r FinishRequest) texts() []string { return append(r.Result.texts(), r.Holder) }

func (r SettleRequest) texts() []string { return r.Result.texts() }

// Operation is what the ledger knows of a name; see [ledger.Operation].
type Operation struct {
	Scope string `json:"scope"` // its namespace
	Name  string `json:"name"`  // in its one spelling

	State    ledger.State `json:"state"`    // running, applied, failed or unknown
	Replayed bool         `json:"replayed"` // it had ended before: this is memory, and not to be run

	UID         uint32             `json:"uid"`                  // of who began or absorbed it
	Fingerprint ledger.Fingerprint `json:"fingerprint,omitzero"` // absent: none
	Orphan      ledger.Orphan      `json:"orphan"`               // reject or retry

	// Holder and Fence are the last ones; absent if it was absorbed.
	Holder string `json:"holder,omitempty"` // a random string
	Fence  uint64 `json:"fence,omitempty"`  // from 1

	Began        time.Time `json:"began"`                  // first, in UTC
	LeaseExpires time.Time `json:"lease_expires,omitzero"` // while it runs, or has lapsed
	Ended        time.Time `json:"ended,omitzero"`         // absent while it runs, or has lapsed

	Lapsed  bool `json:"lapsed,omitempty"`  // unknown because its lease ran out: a late finish would still count
	Settled bool `json:"settled,omitempty"` // the outcome is an operator's word
	Forked  bool `json:"forked,omitempty"`  // another name has its identity, epoch and seq: its minter was cloned or rolled back

	Result *Result `json:"result,omitempty"` // of its end; absent: none, and in a list its body is left out
}

// TellOperation returns an operation as it goes over the wire.
func TellOperation(o ledger.Operation) *Operation {
	return &Operation{
		Scope: o.Ref.Scope, Name: o.Ref.Name, State: o.State, Replayed: o.Replayed,
		UID: o.UID, Fingerprint: o.Fingerprint, Orphan: o.Orphan, Holder: o.Holder, Fence: o.Fence,
		Began: o.Began, LeaseExpires: o.LeaseExpires, Ended: o.Ended,
		Lapsed: o.Lapsed, Settled: o.Settled, Forked: o.Forked, Result: tellResult(o.Result),
	}
}

// Ledger returns an operation that came over the wire.
func (o *Operation) Ledger() ledger.Operation {
	return ledger.Operation{
		Ref: ledger.Ref{Scope: o.Scope, Name: o.Name}, State: o.State, Replayed: o.Replayed,
		UID: o.UID, Fingerprint: o.Fingerprint, Orphan: o.Orphan, Holder: o.Holder, Fence: o.Fence,
		Began: o.Began, LeaseExpires: o.LeaseExpires, Ended: o.Ended,
		Lapsed: o.Lapsed, Settled: o.Settled, Forked: o.Forked, Result: o.Result.Ledger(),
	}
}

// Operations is the answer to GET /v1/operations/{scope}.
type Operations struct {
	Operations []*Operation `json:"operations"` // in the order of their names

	// Next is the after of the next page; absent: this is the last. A page can be
	// empty and not be the last.
	Next string `json:"next,omitempty"`
}

// AbsorbRequest is the body of POST /v1/operations/{scope}.
type AbsorbRequest struct {
	Names []AbsorbName `json:"names"` // at most [ledger.MaxAbsorb]
}

// AbsorbName is a name of an [AbsorbRequest].
type AbsorbName struct {
	Name        string             `json:"name"`                 // as in a [ledger.Ref]
	Fingerprint ledger.Fingerprint `json:"fingerprint,omitzero"` // absent: none
}

func (r AbsorbRequest) texts() []string {
	texts := make([]string, len(r.Names))
	for i := range r.Names {
		texts[i] = r.Names[i].Name
	}
	return texts
}

// Absorbed is the answer to POST /v1/operations/{scope}.
type Absorbed struct {
	Results []ledger.Verdict `json:"results"` // in the order of the names
}

// ScopeRequest is the body of PUT /v1/scopes/{scope}.
type ScopeRequest struct {
	Horizon Duration `json:"horizon"` // 1s to 87600h
}

// Scope is the answer to GET and PUT /v1/scopes/{scope}. What is counted is counted
// in this scope.
type Scope struct {
	Scope      string   `json:"scope"`      // as it was asked for
	Horizon    Duration `json:"horizon"`    // how long an operation is remembered after its end
	Records    uint64   `json:"records"`    // operations, in all states
	Running    uint64   `json:"running"`    // operations
	Applied    uint64   `json:"applied"`    // likewise
	Failed     uint64   `json:"failed"`     // likewise
	Unknown    uint64   `json:"unknown"`    // likewise
	Forked     uint64   `json:"forked"`     // likewise
	Floors     uint64   `json:"floors"`     // identities of which names were seen; kept for ever
	Tombstones uint64   `json:"tombstones"` // of keys that have no floor

	// MemorySince is since when the ledger remembers: an operation that ended before
	// is not known, and would be run again.
	MemorySince time.Time `json:"memory_since"`

	// Suspect says that the ledger may be an older copy of itself: names that it has
	// not seen may have been applied, and are not run until somebody accepts it.
	Suspect bool `json:"suspect"`
}

// TellScope returns a scope of a ledger as it goes over the wire.
func TellScope(s ledger.Scope, of ledger.Info) *Scope {
	return &Scope{
		Scope: s.Name, Horizon: Duration(s.Horizon), Records: s.Records(),
		Running: s.Running, Applied: s.Applied, Failed: s.Failed, Unknown: s.Unknown, Forked: s.Forked,
		Floors: s.Floors, Tombstones: s.Tombstones, MemorySince: of.Since, Suspect: of.Suspect,
	}
}

// Ledger returns a scope that came over the wire.
func (s *Scope) Ledger() ledger.Scope {
	return ledger.Scope{Name: s.Scope, Horizon: time.Duration(s.Horizon), Counts: ledger.Counts{
		Running: s.Running, Applied: s.Applied, Failed: s.Failed, Unknown: s.Unknown, Forked: s.Forked,
		Floors: s.Floors, Tombstones: s.Tombstones,
	}}
}
