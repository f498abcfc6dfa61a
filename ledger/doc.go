// Package ledger is the receiver's durable memory: which operations were applied,
// so that a retry is answered and never applied again.
//
//	keeper, err := ledger.Open(ctx, store, ledger.Config{})
//	go keeper.Run(ctx)
//	mine := keeper.As(uid)
//	op, err := mine.Begin(ctx, ledger.Ref{Scope: "pay", Name: name}, ledger.Attempt{
//		Holder: holder, Fingerprint: sha256.Sum256(payload),
//	})
//	switch {
//	case err != nil:                  // not to be run; errors.Is says why
//	case op.State == ledger.Running:  // run it, then
//		op, err = mine.Finish(ctx, op.Ref, op.Hold(), ledger.Applied, result)
//	default:                          // it has ended before: answer with op.Result
//	}
//
// # What is promised
//
// One name, one final state: applied, failed (which means: not applied) or unknown,
// which an operator can settle. The fingerprint is compared in every state, and a
// mismatch changes nothing. Nothing runs twice, unless the first Begin said
// OrphanRetry and a lease ran out. What was answered is on disk, and after a crash
// every call can be repeated. If the store fails, nothing is run.
//
//	state              Begin             Extend   Finish        Settle       its lease ends
//	never seen         → running         404      404           404
//	running            the holder: same  longer   → its outcome in progress  → lapsed
//	                   others: in progress
//	lapsed             reject: unknown   running  → its outcome → applied    (also before it is
//	                   retry:  → running                          or failed   written down)
//	                   fence + 1
//	applied, failed    replayed          fenced   equal: same   equal: same
//	unknown            replayed          fenced   equal: same   → applied
//	                                                              or failed
//	past its horizon   expired           expired  expired       expired
//	below the floor    expired           expired  expired       expired
//	suspect, not seen  outcome unknown   …        …             → applied
//	                                                              or failed
//
// Extend and Finish need the current hold, which is the holder and its fence; with
// another one they are fenced. A late Finish counts if nobody took over.
//
// # Memory and its end
//
// An operation is answered until its scope's horizon after its end, and is expired
// from then on. A minute later it is purged, and in the same commit leaves what keeps it
// expired: a minted name (classes h, v, j) raises the floor of its identity to its
// (epoch, seq), below which a name that is not in the ledger is expired for ever, also if
// it was never sent before; any other key, also a child, leaves a tombstone for ten
// horizons, after which it would be new again. So the horizon must exceed the longest
// time from minting a name to its last retry. The minute is what leases of names may
// last: within it names are not in order.
//
// A minted name and its UUID rendering are two keys.
//
// Running operations and those of unknown outcome stay. Names of an epoch more than
// 2^20 above the highest that was seen of their identity are refused.
//
// A ledger that was restored from a backup is suspect ([Config].Restored): of names that
// it has not seen it says that their outcome is unknown, unless their epoch was
// claimed since ([Keeper.Claimed]), until somebody accepts it.
//
// # Time
//
// Leases and horizons are measured by the ledger's own time. It is kept in the store,
// advances by the time since the machine's boot while the ledger is open, and across
// a stop by the wall clock, one hour at most. So it is never ahead by more than an hour
// for each stop, and a wrong clock purges nothing early. Times that people see are the
// wall clock's.
//
// # The log
//
// Every change is an event in a hash chain, one for each uid and one for all shared
// scopes. An event says what records become, whatever they were before:
//
//	{"number":7,"chain":"1000","time":"…","clock":1772600767000,"what":"begun","uid":1000,
//	 "scope":"pay","name":"h1-…","operation":{"state":"running","fence":1,"holder":"…",…},
//	 "prev":"SHA-256 of the line before it in the chain, of zeros for the first"}
//
// Numbers count over all chains. What is scope, begun, handed, extended, finished,
// settled, lapsed, forked, absorbed, purged, dropped (a tombstone), suspect, accepted,
// or one of a checkpoint's. "clock" and "due" are the ledger's time, in milliseconds. A
// result is in the log as its SHA-256 only.
//
// When a chain has grown to twice what its last checkpoint took, and a megabyte, another
// one begins: "checkpoint" marks a place, "carried" events repeat bit by bit all records
// that stood there and still do, "complete" says that all have been, and what is before
// the mark is deleted. So the log after the mark is all that [Rebuild] needs; [Compare]
// shows that it makes the same ledger. [Verifier] checks lines as they are served.
//
// # The records
//
//	a                        the head: identity of the ledger, time, totals    changes with each commit
//	b OWNER                  account: what a uid uses up
//	c OWNER                  chain: last event and hash, checkpoint
//	d OWNER NAME             scope: number, horizon, counts
//	e TIME OWNER SCOPE       when to look at a scope for what is to be purged → its name
//	f OWNER SCOPE IDENTITY   floor, highest epoch seen
//	g OWNER SCOPE            → the scope's name
//	l OWNER NUMBER           log: events up to that number, with the hash before them
//	o OWNER SCOPE NAME       operation, with a result of up to 512 bytes
//	p OWNER SCOPE TIME NAME  operations that ended, by when
//	r OWNER SCOPE NAME       a larger result
//	t OWNER SCOPE HASH       tombstone
//	u OWNER SCOPE TIME HASH  tombstones by when they were made
//	v OWNER SCOPE NAME       operations whose outcome is unknown
//	w TIME OWNER SCOPE NAME  running operations by the end of their lease
//	x TIME OWNER SCOPE NAME  operations whose outcome is unknown, by since when
//
// OWNER is the uid in 4 bytes, ffffffff for shared scopes; SCOPE the scope's number in 4
// bytes, TIME the ledger's in 8. Values begin with a version and have one spelling: what
// is read must be what would be written, else it is a store.ErrDamaged.
//
// # Commits
//
// Calls that change something queue up, and the first to get its turn decides them all, one
// after the other, and commits them at once, resting on one check: that the head is as it
// was. So chains and counts cost no contention, the rate grows with the number of
// callers, and several processes may keep one ledger if the store is one that allows it.
// Calls that only read, repeats among them, wait for nobody.
//
// Each commit purges up to twice as many operations as it adds, if that many are due, so
// that a ledger does not grow with the number of operations that were ever in it. No call and
// no start reads more than a few records, whatever the size, but for [Rebuild] and [Compare].
package ledger
