// Package keygen makes and reads the names of operations: idempotency keys
// that were never minted before and never will be again.
//
// # A name
//
//	h1-emhwdgg60rf5x9vn4a-00000001-00000000-r4trds3k1d7z9ygzca
//	│  └ identity          └ epoch  └ seq    └ tag           └ check
//	class, version  90 bits   40 bits  40 bits  80 bits         10 bits
//
// A name has 58 characters. Its digits are base 32 with the alphabet
// 0123456789abcdefghjkmnpqrstvwxyz, most significant first and of fixed
// width, so the names of one identity sort in mint order as plain bytes.
//
//	part      digits  what it is
//	class     1       h: physical TPM, v: virtual TPM, j: journal without a
//	                  TPM, s: semantic
//	version   1       1
//	identity  18      whose names these are, see [NewIdentity]
//	epoch     8       the counter value under which the name was minted
//	seq       8       the number within the epoch
//	tag       16      the first 80 bits of AES-128(lease key, seq), so that
//	                  nobody can guess the next name
//	check     2       CRC-32 of the 56 characters before it, modulo 1024: it
//	                  catches typing errors and is no security
//
// The check sees every single wrong character and every swap of neighbours but
// one: h and q as the last digit of the tag and the first of the check, which
// stand there in 2 of 1,024 names.
//
// A semantic name, class s, is named by its content instead: s1-, 53 digits of
// a SHA-512 over its fields, and the check; see [Semantic]. A child of a name,
// such as the compensation of an operation, is the name followed by an
// underscore and a label; see [Name.Child].
//
// # What is promised
//
// [Parse] accepts exactly what [Name.String] prints and no other spelling:
// two spellings of one key would be two keys to a receiver. A [Minter] never
// hands out one (epoch, seq) twice, whatever its callers do and however its
// [Counter] fails, as long as the Counter keeps its contract; a Counter that is
// seen to go back is refused for ever.
//
// # Minting
//
// A Minter asks its Counter for an epoch, then mints under it at memory speed.
// [Minter.Lease] takes a range of seqs with one atomic addition and gives it a
// random key of its own; [Lease.AppendName] makes names from it and allocates
// nothing. A lease is void in a child process: a fork, a checkpoint or a copy
// of a process that holds a lease would mint the same names again. Go programs
// do not fork without exec; programs in other languages must drop their lease
// in the child.
//
// The package uses the standard library only. Test vectors for other languages
// are in testdata/vectors/names.json at the root of the project.
package keygen
