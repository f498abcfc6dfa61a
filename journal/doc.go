// Package journal is the minter's durable memory: which epochs were claimed, how
// far the TPM's counter was known to be, when something went back in time, and
// which names were given to which intents. Over it stand the counters from which a
// minter of each class gets its epochs.
//
//	j, err := journal.Open(ctx, store, time.Now)
//	s, err := j.Compare(ctx, tpmCounter, ek, first) // not in class j
//	c, err := j.Counter(journal.CounterConfig{
//		Class: keygen.ClassH, Standing: s, Minter: minter, Reason: "start",
//	})
//	m, err := keygen.NewMinter(ctx, keygen.MinterConfig{
//		Class: keygen.ClassH, Identity: c.Identity(), Counter: c,
//	})
//
// # What is promised
//
//	class  epoch                                          above
//	h      the TPM counter's value                        all that was known of the counter
//	v      1 + the higher of the journal's highest epoch  every epoch of this journal
//	       and the TPM counter's value, claimed too
//	j      1 + the journal's highest epoch                every epoch of this journal
//
// An epoch is in the journal, durably, before [Counter.Next] returns it. A crash,
// a write that is lost and a write that is kept but reported lost waste a number
// at most; they never repeat one, and they never look like a rollback. Times are
// kept for people to read; no epoch depends on a clock.
//
// # One claim
//
//	store   "claiming after n": n is the highest value known       1
//	TPM     increment and read: m                                  2
//	store   "m is known, nothing is under way", and the epoch      3
//	caller  gets the epoch                                         4
//
// After a crash between 1 and 3 the journal knows that the counter may have moved
// by what one claim can cause, [MaxTries]. The next claim in the same process
// reads the counter first, so that this never adds up.
//
// # What is noticed
//
// Counters of TPMs never go down. So one that shows less than what is known, or
// that answers a claim with a value at or below it, went back: a rollback "tpm".
// It is recorded, the incarnation is demoted for good, which rules out class h,
// and the Counters at hand refuse. In class v one goes on with new ones, and with
// a new minter.
//
// A counter that shows more at the start of a process than the journal can explain
// means that the journal is older than the counter: a rollback "journal". From
// inside, this cannot be told from somebody else who increments the index, such as
// a daemon with a state folder of its own and a copy of index.auth. Names do not
// care: each value has one owner. So nothing is refused or demoted; it is recorded
// once a start, and [Journal.Since] moves, for operations that were named since
// the journal was copied may be forgotten. While a process runs, it remembers what
// it claimed itself, so that what else the counter does is somebody else's, and
// normal. Daemons that are to share a TPM quietly take an index each.
//
// The minter of class h is kept with what is known of the counter, so that it does
// not outlive a demotion: a journal that is lost begins with another identity.
//
// Another endorsement key or another incarnation is no rollback; [Standing.Change]
// says it. If TPM and journal went back together, or the journal alone without a
// TPM, nobody can notice from inside.
//
// # Intents
//
//	in, err := j.Intents(ctx, journal.IntentsConfig{Minter: m, …})
//	go in.Keep(ctx)
//	intent, err := in.Name(ctx, uid, journal.Ask{Intent: "charge order 7"})
//	number, err := in.Number(ctx, uid, "coils", "setpoint 17")
//
// An intent is what a caller calls an operation before it has a name. It gets one,
// which is in the store before it is returned, and the same one for everybody who
// asks, until it is forgotten. It is remembered for a time (retain); then, for ten
// times as long, a tombstone stands in its place, and it is ErrExpired. A stream
// numbers its intents densely from 0 on; those numbers stay until they are acked
// besides. Memory is bounded by a quota for each user: of a user who has n intents
// at a time, at most 10·n tombstones stand.
//
// Times to remember are measured in the journal's own time, which is kept in it. It
// goes on with the boot-time clock and, across one stop, with the wall clock, but
// an hour at most: so a wrong clock forgets nothing early, and a machine that is
// off remembers for longer.
//
// A stream has an edition, so that its receiver can tell numbers that were given in
// two histories. Another one is drawn, with a higher number, when the stream is next
// asked for, whenever the journal may have gone back:
//
//	a rollback "journal" or "generation"   in all classes
//	another identity of the minter         in all classes: a renewal, and in v and j,
//	                                       where a journal can go back unnoticed while
//	                                       it is stopped, each start
//	a rollback "clock"                     in v and j: it may be the only trace of a
//	                                       machine that was restored
//
// Numbers go on across editions: what was numbered before keeps its number, and
// what was numbered after the moment to which the journal went back is forgotten.
//
// Callers who ask at once for what is new share one commit, which costs the same
// for one as for many; what is known is read without it. Nothing is read when
// intents are opened, however many there are. What is due is found in the order of
// time and forgotten in small steps.
//
// # The records
//
// Values are JSON unless it says otherwise, in exactly one spelling: what is read
// must be what would be written, else the error is a store.ErrDamaged. Their version
// is the store's.
//
//	journal                       highest epoch ever, since when memory is unbroken, totals
//	counter/INCARNATION           what is known of a TPM's counter; kept for ever
//	ek-template                   from which template the endorsement key is made
//	ledger                        how far the receiver's ledger was
//	epoch/IDENTITY/EPOCH          an epoch and what was seen when it was claimed
//	slot/NNNN                     which epoch is in this slot of KeptEpochs
//	rollback/WHAT/NN              a rollback, in its slot of KeptRollbacks
//
//	clock                         the journal's time
//	i/UID INTENT                  an intent, in bytes
//	m/UID n STREAM INTENT         an intent in a stream, in bytes
//	n/UID n STREAM NUMBER         which intent has that number: its text
//	s/UID STREAM                  a stream
//	t/UID HASH                    a tombstone: until when it stands, 8 bytes
//	d/TIME KEY                    when the record at KEY is due
//	i/UID FF                      how many intents and streams a user has, 8 bytes each
//	editions                      the highest of the editions of forgotten streams
//
// Of the latter UID is 4 bytes, NUMBER and TIME 8, n (the stream's length) 1, HASH 16;
// numbers are big-endian.
//
// Slots are filled in turn, and what falls out of one is deleted in the same commit.
// So the journal is bounded but for counter records, one for each time that an
// operator made a new index. No claim reads more than a few records, and no start
// but the first with a new index, which reads all counter records.
package journal
