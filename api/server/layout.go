package server

import (
	"strconv"

	"github.com/opmint/opmint/keygen"
)

// layout is how names stand in an answer: head, then the names, each between
// before and after and parted by between, then a tail.
type layout struct {
	contentType                  []string
	head, before, between, after string
	format                       keygen.Format
}

// newLayout returns the layout of a text answer, one name a line, or of a JSON
// answer (see api.Names).
func newLayout(text bool, format keygen.Format) *layout {
	if text {
		return &layout{contentType: textType, after: "\n", format: format}
	}
	l := &layout{contentType: jsonType, head: `{"names":[`, before: `"`, between: `,`, after: `"`, format: format}
	if format == keygen.FormatHeader {
		// Its quotes have to be escaped.
		l.before, l.after, l.format = `"\"`, `\""`, keygen.FormatNative
	}
	return l
}

// appendTail appends what ends an answer whose first name is of the given lease.
func (l *layout) appendTail(b []byte, t keygen.Terms) []byte {
	if l.head == "" {
		return b
	}
	b = append(b, `],"class":"`...)
	b = append(b, byte(t.Class))
	b = append(b, `","identity":"`...)
	b = append(b, t.Identity.String()...)
	b = append(b, `","epoch":`...)
	b = strconv.AppendUint(b, t.Epoch, 10)
	return append(b, "}\n"...)
}

// nameSize returns how many bytes each name takes, with all that is around it.
func (l *layout) nameSize() int {
	size := keygen.Length
	switch l.format {
	case keygen.FormatHeader:
		size += len(`""`)
	case keygen.FormatUUID, keygen.FormatUUID4, keygen.FormatUUID7:
		size = 36
	}
	return len(l.before) + size + len(l.after) + len(l.between)
}

// size returns the length in bytes of an answer of count names.
func (l *layout) size(count uint64, tail []byte) int {
	return len(l.head) + int(count)*l.nameSize() - len(l.between) + len(tail)
}

// appendNames appends the names of a lease; each but the first of the answer
// follows another.
func (l *layout) appendNames(b []byte, lease *keygen.Lease, first bool) ([]byte, error) {
	var native []byte
	if l.format != keygen.FormatNative {
		native = make([]byte, 0, keygen.Length)
	}
	var err error
	for i := range lease.Count() {
		if !first {
			b = append(b, l.between...)
		}
		first = false
		b = append(b, l.before...)
		if l.format == keygen.FormatNative {
			b, err = lease.AppendName(b, i)
		} else if native, err = lease.AppendName(native[:0], i); err == nil {
			b, err = keygen.AppendRendering(b, native, l.format)
		}
		if err != nil {
			return b, err
		}
		b = append(b, l.after...)
	}
	return b, nil
}
