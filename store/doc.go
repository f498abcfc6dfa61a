// Package store keeps opmint's records on disk: the minter's journal and the
// receiver's ledger are each one store.
//
// [Store] is the contract, four methods around compare-and-swap: read a key,
// read a run of keys, commit checks and writes all or nothing, close. Every
// implementation passes the suite of package storetest. [Open] gives the one
// for a single machine, [Bolt], a bbolt file; that of a ledger, which is written all the
// time, has a log before it.
//
// # What a Bolt promises
//
//   - What was committed is on disk, and what is read is on disk: neither
//     Commit's answer nor Get's can be taken back by a power cut.
//   - Nobody is told that a record is absent because a file is damaged. The
//     whole file is verified when it is opened, each value again when it is
//     read; what does not fit is [ErrDamaged], a file that was there and is
//     gone is [ErrLost]. One thing cannot be told from a Commit that a crash cut
//     off, and that nobody was told of: the last entry of a log, if it is damaged
//     after a crash and before the next Open.
//   - When it cannot be known whether a write happened, the Commit says so
//     ([ErrOutcomeUnknown]) and the store stops: nothing is read or written
//     until it is opened anew and reads the truth from the disk. A full disk is
//     no such case: the Commit fails, and the store goes on.
//   - One process at a time, and only the file's owner: see [Open].
//
// # The file
//
//	NAME            mode 0600, a bbolt database with pages of 4096 bytes
//	  "format"        one record: "opmint" = "VERSION KIND", such as "1 journal"
//	  "records"       the records; the bucket's sequence number is the sum of
//	                  all their checksums, so that none can be missing
//	NAME.created    says that NAME was made: without NAME beside it, NAME is lost
//	NAME.new        NAME while it is made; left behind only by a crash
//	NAME.log        a ledger's: what was committed since NAME was last written
//
// A stored value is the value behind its checksum:
//
//	bytes 0…3   CRC-32C of key and value, begun with the key's length where
//	            others begin with 0; big-endian
//	bytes 4…    the value
//
// The version changes when an older opmint could misread the file. A newer
// one is refused with [ErrNewer] before anything else of it is looked at, so
// "format" stays what it is in all versions; an older one is upgraded by Open.
//
// # Costs
//
// A transaction of bbolt syncs twice, after writing pages here and there. With a log
// a Commit appends to it and syncs once; what is there is read from memory, and written
// to the file, in one transaction, when it is 8 MiB, or the store is closed. Measured for
// records of 200 bytes and 1, 16 and 64 writers, Commits a second: without a log 4,400,
// 20,000 and 36,000, with one 10,000, 87,000 and 134,000. Whoever commits when the log is
// full waits for some tenth of a second. The log and the file belong together: back up and
// restore both, and the store must be closed for that.
//
// Commits that arrive while one is under way share the next, so the rate grows with the
// number of writers: there is no delay and no goroutine of the store's own.
//
// Opening reads the file once, front to back: 10 million records of 200 bytes
// in 1 second from memory. After a crash bbolt reads it a second time, for its
// free pages: 2 seconds. Few bytes of heap stay in use, but for what a log has.
//
// A leaf of the tree is rewritten as a whole, and up to four large values share
// one: keep large values away from keys that change often. Pages that were
// freed are used again, but the file never shrinks.
package store
