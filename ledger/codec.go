package ledger

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/opmint/opmint/store"
)

// version begins every value: another one is for another opmint.
const version = 1

// record is what a value of the store holds.
type record interface {
	// append appends the record's one spelling.
	append(b []byte) []byte
	// parse reads what append appended. What it leaves unchecked, decode checks.
	parse(p *parser)
}

func encode(r record) []byte { return encodeLong(r, 128) }

// encodeLong is encode for a record of about that many bytes.
func encodeLong(r record, size int) []byte { return r.append(append(make([]byte, 0, size), version)) }

// decode reads into r what encode returned. Anything else is a store.ErrDamaged.
func decode(data []byte, r record) error {
	if len(data) == 0 || data[0] != version {
		return fmt.Errorf("%w: %.8x… does not begin a record of version %d", store.ErrDamaged, data, version)
	}
	p := parser{data: data[1:]}
	r.parse(&p)
	if p.failed || len(p.data) > 0 || !bytes.Equal(encode(r), data) {
		return fmt.Errorf("%w: %.200x is not how opmint spells a record", store.ErrDamaged, data)
	}
	return nil
}

// parser takes data apart. Once something does not fit it has failed, and returns
// zeros.
type parser struct {
	data   []byte
	failed bool
}

// need ends the parsing unless ok.
func (p *parser) need(ok bool) {
	if !ok {
		p.data, p.failed = nil, true
	}
}

func (p *parser) uint() uint64 {
	v, n := binary.Uvarint(p.data)
	if p.need(n > 0); p.failed {
		return 0
	}
	p.data = p.data[n:]
	return v
}

// uintTo reads a number of at most most.
func (p *parser) uintTo(most uint64) uint64 {
	v := p.uint()
	if p.need(v <= most); p.failed {
		return 0
	}
	return v
}

// millis reads a time.
func (p *parser) millis() int64 { return int64(p.uintTo(maxMillis)) }

func (p *parser) uid() uint32 { return uint32(p.uintTo(1<<32 - 1)) }

// take reads n bytes, which stay part of data.
func (p *parser) take(n int) []byte {
	if p.need(n <= len(p.data)); p.failed {
		return nil
	}
	taken := p.data[:n]
	p.data = p.data[n:]
	return taken
}

// fill fills b.
func (p *parser) fill(b []byte) { copy(b, p.take(len(b))) }

// text reads what appendText appended.
func (p *parser) text(most int) string { return string(p.take(int(p.uintTo(uint64(most))))) }

// rest reads all that is left.
func (p *parser) rest() []byte { return p.take(len(p.data)) }

func appendText[T string | []byte](b []byte, text T) []byte {
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}

// appendUints appends numbers of any size.
func appendUints(b []byte, numbers ...uint64) []byte {
	for _, n := range numbers {
		b = binary.AppendUvarint(b, n)
	}
	return b
}

// appendMillis appends times, which are never negative.
func appendMillis(b []byte, times ...int64) []byte {
	for _, t := range times {
		b = binary.AppendUvarint(b, uint64(t))
	}
	return b
}
