package store

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
)

// The log of a store: what was committed since its bbolt file was last written.
//
//	bytes 0…23   "opmint log 1\n", zeros
//	bytes 24…39  salt, random each time the log begins anew
//	bytes 40…47  the bbolt file's newest transaction then
//	bytes 48…51  CRC-32C of the bytes before
//	bytes 64…    entries, each at a multiple of 64 bytes:
//	             length of the body, CRC-32C of salt, place and body, body
//
// A body is a list of writes, each the length of the key, the key, the length of
// the value, the value; or empty, which says that all before it is being written to the
// bbolt file. Behind the last entry are zeros, or what is left from before the log began
// anew. The salt tells entries from that, and from bytes in a value that look like one.
const (
	logMagic   = "opmint log 1\n"
	logHeader  = 64
	logAlign   = 64
	entryStart = 8
	logGrowth  = 1 << 20 // by how much at least a log is made longer, in zeros
)

func logPath(path string) string { return path + ".log" }

// logFile is a log that is open.
type logFile struct {
	file  io.ReaderAt
	write func(b []byte, at int64) (int, error)
	sync  func() error
	close func() error
	salt  [16]byte
	base  uint64 // the bbolt file's newest transaction when the log began
	end   int64  // where the next entry goes
	size  int64  // of the file
}

func useLog(f *os.File) *logFile {
	return &logFile{file: f, write: f.WriteAt, sync: func() error { return datasync(f) }, close: f.Close}
}

// begin empties the log: base is what the bbolt file has now.
func (l *logFile) begin(base uint64) error {
	if _, err := rand.Read(l.salt[:]); err != nil {
		return err
	}
	header := make([]byte, logHeader)
	copy(header, logMagic)
	copy(header[24:], l.salt[:])
	binary.BigEndian.PutUint64(header[40:], base)
	binary.BigEndian.PutUint32(header[48:], crc32.Checksum(header[:48], castagnoli))
	if _, err := l.write(header, 0); err != nil {
		return err
	}
	if err := l.sync(); err != nil {
		return err
	}
	l.base, l.end, l.size = base, logHeader, max(l.size, logHeader)
	return nil
}

// grow makes room for n bytes, so that an append changes nothing but bytes that are
// there: a sync is then one write of the disk.
func (l *logFile) grow(n int) error {
	more := l.end + int64(n) - l.size
	if more <= 0 {
		return nil
	}
	zeros := make([]byte, max(more, logGrowth))
	if _, err := l.write(zeros, l.size); err != nil {
		return fmt.Errorf("make the log longer: %w", err)
	}
	if err := l.sync(); err != nil {
		return fmt.Errorf("make the log longer: %w", err)
	}
	l.size += int64(len(zeros))
	return nil
}

// entrySize returns how much room an entry takes.
func entrySize(body int) int { return (entryStart + body + logAlign - 1) / logAlign * logAlign }

// append adds an entry, durably; there is room for it. After an error it may be there
// or not.
func (l *logFile) append(body []byte) error {
	entry := make([]byte, entrySize(len(body)))
	binary.BigEndian.PutUint32(entry, uint32(len(body)))
	binary.BigEndian.PutUint32(entry[4:], l.checksum(l.end, body))
	copy(entry[entryStart:], body)
	if _, err := l.write(entry, l.end); err != nil {
		return err
	}
	l.end += int64(len(entry))
	return l.sync()
}

func (l *logFile) checksum(at int64, body []byte) uint32 {
	place := binary.BigEndian.AppendUint64(l.salt[:16:16], uint64(at))
	return crc32.Update(crc32.Checksum(place, castagnoli), castagnoli, body)
}

// load reads the log and calls fn for each entry. What a crash left of an entry that
// was being appended is the end; if there are entries behind it, it is damage.
func (l *logFile) load(size int64, fn func(body []byte) error) error {
	data := make([]byte, size)
	if _, err := l.file.ReadAt(data, 0); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if len(data) < logHeader || !bytes.HasPrefix(data, []byte(logMagic)) ||
		binary.BigEndian.Uint32(data[48:]) != crc32.Checksum(data[:48], castagnoli) {
		return fmt.Errorf("%w: its log has no header", ErrDamaged)
	}
	l.salt, l.base, l.size = [16]byte(data[24:]), binary.BigEndian.Uint64(data[40:]), size
	at := int64(logHeader)
	for {
		body, ok := l.entry(data, at)
		if !ok {
			break
		}
		if err := fn(body); err != nil {
			return err
		}
		at += int64(entrySize(len(body)))
	}
	l.end = at
	for ; at < size; at += logAlign {
		if _, ok := l.entry(data, at); ok {
			return fmt.Errorf("%w: an entry at %d of its log, and none at %d", ErrDamaged, at, l.end)
		}
	}
	return nil
}

// entry returns the body of the entry at a place, if there is one.
func (l *logFile) entry(data []byte, at int64) (body []byte, ok bool) {
	if at+entryStart > int64(len(data)) {
		return nil, false
	}
	n := int64(binary.BigEndian.Uint32(data[at:]))
	if n > int64(len(data))-at-entryStart {
		return nil, false
	}
	body = data[at+entryStart:][:n]
	return body, binary.BigEndian.Uint32(data[at+4:]) == l.checksum(at, body)
}

// appendWrite appends a write as it stands in a body.
func appendWrite(b []byte, w Write) []byte {
	b = append(binary.AppendUvarint(b, uint64(len(w.Key))), w.Key...)
	return append(binary.AppendUvarint(b, uint64(len(w.Value))), w.Value...)
}

// eachWrite calls fn for each write of a body. Key and value stay part of it.
func eachWrite(body []byte, fn func(w Write)) error {
	for len(body) > 0 {
		var fields [2][]byte
		for i := range fields {
			n, used := binary.Uvarint(body)
			if used <= 0 || n > uint64(len(body)-used) {
				return fmt.Errorf("%w: an entry of its log is no list of writes", ErrDamaged)
			}
			fields[i], body = body[used:][:n], body[used+int(n):]
		}
		w := Write{Key: fields[0], Value: fields[1]}
		if err := validPair(w.Key, w.Value); err != nil {
			return fmt.Errorf("%w: in its log: %w", ErrDamaged, err)
		}
		fn(w)
	}
	return nil
}
