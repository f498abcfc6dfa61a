package ledger

import (
	"encoding/hex"
	"fmt"
	"strconv"
)

// jsonWriter writes JSON in exactly one spelling, which encoding/json does not
// promise from one Go to the next: hashes of what was written must not change.
type jsonWriter struct {
	buf []byte
}

// comma separates from what comes before.
func (j *jsonWriter) comma() {
	if n := len(j.buf); n > 0 && j.buf[n-1] != '{' && j.buf[n-1] != '[' && j.buf[n-1] != ':' {
		j.buf = append(j.buf, ',')
	}
}

func (j *jsonWriter) open(bracket byte) {
	j.comma()
	j.buf = append(j.buf, bracket)
}

func (j *jsonWriter) close(bracket byte) { j.buf = append(j.buf, bracket) }

func (j *jsonWriter) key(key string) {
	j.comma()
	j.buf = append(append(append(j.buf, '"'), key...), '"', ':')
}

func (j *jsonWriter) uint(key string, n uint64) {
	j.key(key)
	j.buf = strconv.AppendUint(j.buf, n, 10)
}

func (j *jsonWriter) hex(key string, data []byte) {
	j.key(key)
	j.buf = append(hex.AppendEncode(append(j.buf, '"'), data), '"')
}

// time writes milliseconds as RFC 3339 has them.
func (j *jsonWriter) time(key string, millis int64) {
	j.key(key)
	j.buf = timeAt(millis).AppendFormat(j.buf, `"2006-01-02T15:04:05.000Z"`)
}

// flag writes true, and nothing where it is not set.
func (j *jsonWriter) flag(key string, set bool) {
	if set {
		j.key(key)
		j.buf = append(j.buf, "true"...)
	}
}

// text writes UTF-8.
func (j *jsonWriter) text(key, text string) {
	j.key(key)
	j.buf = append(j.buf, '"')
	for i := range len(text) {
		switch c := text[i]; {
		case c == '"' || c == '\\':
			j.buf = append(j.buf, '\\', c)
		case c < ' ':
			j.buf = fmt.Appendf(j.buf, `\u%04x`, c)
		default:
			j.buf = append(j.buf, c)
		}
	}
	j.buf = append(j.buf, '"')
}

// write writes the fields of an operation as the log has them.
func (o *op) write(j *jsonWriter) {
	j.text("state", string(o.state))
	j.uint("uid", uint64(o.uid))
	j.uint("fence", o.fence)
	j.text("holder", o.holder)
	if !o.fingerprint.IsZero() {
		j.text("fingerprint", o.fingerprint.String())
	}
	j.time("began", o.began)
	if o.ended > 0 {
		j.time("ended", o.ended)
	}
	j.uint("due", uint64(o.due))
	j.flag("retry", o.retry)
	j.flag("lapsed", o.lapsed)
	j.flag("settled", o.settled)
	j.flag("forked", o.forked)
	if o.hasResult() {
		j.hex("result_sha256", o.digest[:])
		j.uint("result_bytes", o.size)
	}
}
