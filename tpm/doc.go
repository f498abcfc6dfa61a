// Package tpm asks a TPM 2.0 for two things: who it is, and a number that
// nobody else has.
//
//	dev, err := tpm.Open("/dev/tpmrm0")
//	ek, err := dev.EndorsementKey(ctx, tpm.EKOptions{})
//	counter, err := tpm.NewCounter(tpm.CounterConfig{Device: dev, StateDir: dir})
//	err = counter.Define(ctx)
//	n, err := counter.Next(ctx)
//
// # The number
//
// TPM2_NV_Increment returns nothing. The value takes a second command, and
// whoever increments in between makes both of them read the same one. So a
// value is owned only if the increment was answered with success and the
// counter then shows one more than it showed before; counters never go down,
// so exactly one increment, this one, lies between. Anything else is dropped
// and tried again.
//
// The index says by itself whose it is:
//
//	handle      0x01901d01, or another of the owner's range
//	nameAlg     SHA-256
//	attributes  COUNTER AUTHREAD AUTHWRITE OWNERREAD NO_DA, and WRITTEN
//	authPolicy  the incarnation: 32 random bytes drawn when it was defined
//	size        8
//	auth value  32 random bytes, the file index.auth of the state folder
//
// All of that but the auth value is hashed into the index's Name, the Name is
// part of each HMAC, and the HMAC's key is the auth value, which has never been
// on the bus in the clear. So nobody between the processor and the TPM can
// forge a number, play back an old answer, or put another index in its place.
// The session needs no salt: a key of 256 random bits cannot be guessed. While
// the index is defined the auth value is encrypted to the endorsement key that
// the TPM shows. That key is compared with nothing, neither a certificate nor a
// fingerprint: who sits between the processor and the TPM at that moment, and
// answers with a key of his own, learns the auth value.
//
// The fewest commands a claim can have:
//
//	                            first   later   shared
//	TPM2_NV_ReadPublic            1       1       1     is it still our index?
//	TPM2_StartAuthSession         1       1       1
//	TPM2_NV_Read                  1       –       1     before
//	TPM2_NV_Increment             1       1       1
//	TPM2_NV_Read                  1       1       1     after; ends the session
//
// A later claim takes for "before" what the one before it read last, which
// proves as much. If others increment the counter too (shared), that would cost
// a dropped increment each time, and TPMs wear out by writes, so then it reads.
// ReadPublic could be left out as well, since the HMAC fails on another index,
// but a failed authorization can count towards the lockout of a stranger's
// index. On a socket and on /dev/tpm0, where no resource manager cleans up, each
// connection begins with two TPM2_GetCapability and flushes what others left.
//
// # When the TPM does not answer
//
// Errors say whether the outcome is known. A TPM that answers RETRY, NV_RATE,
// YIELDED or TESTING has done nothing; the command is sent again for up to 30
// seconds. An answer that does not come within a minute (5 for a new key), or
// is not one, breaks the connection: the number that may have been made is
// burned, and the operation looks and tries once more on a new connection. If
// that fails too, the error is [ErrOutcomeUnknown] wherever the TPM may have
// been changed. Claims and reads are bounded by 3 minutes in all, operations
// that make a key by 7.
//
// # The endorsement key
//
// It is made afresh from the TCG's template, the same each time, and flushed;
// nothing is made persistent or evicted. Its certificate is read where there is
// one and never judged here. An authorization value of the endorsement hierarchy
// is proven in a session without salt, since there is no key yet to make one: who
// listens to the bus can try out passwords at leisure, so it should be random.
package tpm
