package keygen

import "hash/crc32"

// The check of a name is the CRC-32 of its first 56 characters, modulo 1024. A
// CRC is linear: what a digit at one place contributes does not depend on the
// other digits. So a lease computes the check of its names with all digits of
// seq and tag at zero once, and a name adds, for each of those 24 digits, what
// it changes: a third of the time of running the CRC over them.

// check10 returns the check of text, the first 56 characters of a name. The loop
// allocates nothing, where crc32.ChecksumIEEE needs a slice on the heap.
func check10[T string | []byte](text T) uint16 {
	crc := ^uint32(0)
	for i := range len(text) {
		crc = crc32.IEEETable[byte(crc)^text[i]] ^ crc>>8
	}
	return uint16(^crc & 1023)
}

// putCheck writes the two digits of a check.
func putCheck(dst []byte, check uint16) {
	dst[0] = alphabet[check>>5&31]
	dst[1] = alphabet[check&31]
}

// checkMatches reports whether text, of at least 58 characters, has the right
// check in its 57th and 58th.
func checkMatches(text string) bool {
	var want [2]byte
	putCheck(want[:], check10(text[:checkAt]))
	return text[checkAt:Length] == string(want[:])
}

// deltas say what 8 neighbouring digits change in the check: deltas[i][v] for
// digit i having value v instead of 0.
type deltas [8][32]uint16

// Deltas of the digits of seq and of both halves of the tag.
var (
	seqDeltas     = makeDeltas(seqAt)
	tagHighDeltas = makeDeltas(tagAt)
	tagLowDeltas  = makeDeltas(tagAt + 8)
)

// makeDeltas computes the deltas of the 8 digits that begin at byte at.
func makeDeltas(at int) *deltas {
	var text [checkAt]byte
	for i := range text {
		text[i] = alphabet[0]
	}
	zero := check10(text[:])
	var d deltas
	for i := range d {
		for v := range d[i] {
			text[at+i] = alphabet[v]
			d[i][v] = check10(text[:]) ^ zero
		}
		text[at+i] = alphabet[0]
	}
	return &d
}

// putDigits40Check writes the low 40 bits of v as the 8 digits dst[0:8] and
// returns what they change in the check.
func putDigits40Check(dst []byte, v uint64, d *deltas) uint16 {
	_ = dst[7]
	v0, v1, v2, v3 := v>>35&31, v>>30&31, v>>25&31, v>>20&31
	v4, v5, v6, v7 := v>>15&31, v>>10&31, v>>5&31, v&31
	dst[0], dst[1], dst[2], dst[3] = alphabet[v0], alphabet[v1], alphabet[v2], alphabet[v3]
	dst[4], dst[5], dst[6], dst[7] = alphabet[v4], alphabet[v5], alphabet[v6], alphabet[v7]
	return d[0][v0] ^ d[1][v1] ^ d[2][v2] ^ d[3][v3] ^ d[4][v4] ^ d[5][v5] ^ d[6][v6] ^ d[7][v7]
}
