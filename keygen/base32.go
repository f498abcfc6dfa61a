package keygen

// alphabet is Crockford's base 32 in lower case: no i, l, o or u. Its order is
// the order of its bytes, so digits of fixed width sort as the numbers do.
const alphabet = "0123456789abcdefghjkmnpqrstvwxyz"

// notADigit marks the bytes that are not in the alphabet.
const notADigit = 0xff

// digitValues maps a byte to its value as a digit, or to notADigit.
var digitValues = func() (values [256]byte) {
	for i := range values {
		values[i] = notADigit
	}
	for v := range len(alphabet) {
		values[alphabet[v]] = byte(v)
	}
	return values
}()

// putDigits40 writes the low 40 bits of v as the 8 digits dst[0:8].
func putDigits40(dst []byte, v uint64) {
	_ = dst[7]
	dst[0] = alphabet[v>>35&31]
	dst[1] = alphabet[v>>30&31]
	dst[2] = alphabet[v>>25&31]
	dst[3] = alphabet[v>>20&31]
	dst[4] = alphabet[v>>15&31]
	dst[5] = alphabet[v>>10&31]
	dst[6] = alphabet[v>>5&31]
	dst[7] = alphabet[v&31]
}

// digits40 reads the 8 digits of text, which must be digits, as a number.
func digits40(text string) uint64 {
	var v uint64
	for i := range 8 {
		v = v<<5 | uint64(digitValues[text[i]])
	}
	return v
}

// putDigits writes the first 5·len(dst) bits of src as digits, most significant
// bit first.
func putDigits(dst, src []byte) {
	var buffer, bits uint
	for i := range dst {
		if bits < 5 {
			buffer = buffer<<8 | uint(src[0])
			src = src[1:]
			bits += 8
		}
		bits -= 5
		dst[i] = alphabet[buffer>>bits&31]
	}
}
