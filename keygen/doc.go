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
// A semantic name, class s, is named by its content instead: s1-, 53 digits, and
// the check. A child, such as the compensation of an operation, is the name of its
// parent, an underscore and a label; labels have no check, so choose labels that
// no slip turns into each other.
//
// # The format
//
// For other languages; ‖ is concatenation, a text stands for its UTF-8 bytes, all
// numbers are big-endian, "first n bits" means the most significant ones.
//
//	identity   first 90 bits of SHA-256("opmint identity v1\n" ‖ ek ‖ incarnation ‖ minter)
//	           ek           32 bytes: SHA-256 of the endorsement key's SubjectPublicKeyInfo in DER
//	           incarnation  32 bytes that stand in the NV index
//	           minter       16 bytes; ek and incarnation are zero without a TPM
//	tag        first 80 bits of AES-128(lease key, seq as a block of 16 bytes)
//	check      CRC-32 (as in zlib) of the 56 characters before it, modulo 1024
//	child      PARENT_LABEL; a label is 1 to 32 of a-z, 0-9 and '-'; 128 characters in all
//	semantic   first 265 bits of SHA-512("opmint semantic v1\n" ‖ for each field:
//	           its length as 8 bytes ‖ its bytes)
//	uuid       first 16 bytes of SHA-256(namespace as 16 bytes ‖ name), then the
//	           version (8, or 4 or 7 for receivers that insist) into the high half of
//	           byte 6, and 2 into the two high bits of byte 8 (RFC 9562 section 4);
//	           namespace is e97b6bac-577c-4605-acbc-09ef44a03ce1
//	header     the name in double quotes (RFC 9651 section 3.3.3)
//
// Test vectors, also the spellings that must fail, are in
// testdata/vectors/names.json at the root of the project.
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
// nothing, and a [Run] makes them one after the other in less than half the
// time. A lease is void in a child process: a fork, a checkpoint or a copy of a
// process that holds a lease would mint the same names again. Go programs do not
// fork without exec; programs in other languages must drop their lease in the
// child.
//
// The package uses the standard library only.
package keygen
