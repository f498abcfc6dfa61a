package storetest

import (
	"errors"
	"fmt"
)

// Fault is a way in which a Commit of a Memory fails.
//
//	Fault              what Commit returns   after Restart   after Crash
//	Refuse             ErrFault              not there       not there
//	Lose               ErrOutcomeUnknown     not there       not there
//	FailSync           ErrOutcomeUnknown     there           not there
//	KeepButReportLost  ErrOutcomeUnknown     there           there
//
// After Refuse, which is what a full disk does, the store goes on; after the
// others it has stopped.
type Fault int

// All faults.
const (
	Refuse Fault = iota + 1
	Lose
	FailSync
	KeepButReportLost
)

// Faults are all faults, for tests that try each.
var Faults = []Fault{Refuse, Lose, FailSync, KeepButReportLost}

// ErrFault is wrapped by every error that a Fault causes.
var ErrFault = errors.New("injected fault")

// String returns the name of the fault.
func (f Fault) String() string {
	if f < Refuse || f > KeepButReportLost {
		return fmt.Sprintf("Fault(%d)", int(f))
	}
	return [...]string{"Refuse", "Lose", "FailSync", "KeepButReportLost"}[f-1]
}
