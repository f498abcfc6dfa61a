package server

import (
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/opmint/opmint/api"
	"github.com/opmint/opmint/keygen"
)

// maxClaims bounds the epochs that one request can use up.
const maxClaims = 16

// bufferSize is how much of an answer is made before it is sent, in bytes.
const bufferSize = 32 << 10

var buffers = sync.Pool{New: func() any { return new([bufferSize]byte) }}

// mint answers POST /v1/names?count=N&format=F.
func (s *Server) mint(r *request) (action, error) {
	query, err := r.query("count", "format")
	if err != nil {
		return nil, err
	}
	count, err := number(query, "count", api.MaxNames)
	if err != nil {
		return nil, err
	}
	if s.NamesPerEpoch > 0 && count > maxClaims*s.NamesPerEpoch {
		return nil, fmt.Errorf("%w: count %d: with %d names an epoch a request gets at most %d",
			api.ErrBadRequest, count, s.NamesPerEpoch, maxClaims*s.NamesPerEpoch)
	}
	format := keygen.FormatNative
	if query.Has("format") {
		if format, err = keygen.ParseFormat(query.Get("format")); err != nil {
			return nil, fmt.Errorf("%w: %w", api.ErrBadRequest, err)
		}
	}
	if err := r.noBody(); err != nil {
		return nil, err
	}
	l := newLayout(wantsText(r.Header["Accept"]), format)
	return func(a *answer) error { return s.writeNames(a, count, l) }, nil
}

// writeNames mints names and sends them as they are made. Each buffer of an answer
// has a lease of its own: what a memory snapshot holds of an answer under way, and
// would mint again wherever it is restored, is one buffer and no more.
func (s *Server) writeNames(a *answer, count uint64, l *layout) error {
	if err := a.account.takeNames(count); err != nil {
		return err
	}
	fits := uint64((bufferSize - len(l.head)) / l.nameSize())
	lease, err := s.lease(a, min(count, fits))
	if err != nil {
		return err
	}
	memory := buffers.Get().(*[bufferSize]byte)
	defer buffers.Put(memory)
	tail := l.appendTail(make([]byte, 0, 80), lease.Terms())
	h := a.Header()
	h["Content-Type"] = l.contentType
	if count > 1 { // net/http states the length of an answer as small as one name
		h["Content-Length"] = []string{strconv.Itoa(l.size(count, tail))}
	}

	b := append(memory[:0], l.head...)
	for left := count; ; {
		if b, err = l.appendNames(b, lease, left == count); err != nil {
			return err
		}
		left -= lease.Count()
		fits -= lease.Count()
		s.Metrics.minted.Add(float64(lease.Count()))
		if fits == 0 {
			if err := a.send(b); err != nil {
				return err
			}
			b, fits = memory[:0], uint64(bufferSize/l.nameSize())
		}
		if left == 0 {
			return a.send(append(b, tail...))
		}
		if lease, err = s.lease(a, min(left, fits)); err != nil {
			return err
		}
	}
}

// send sends the next part of an answer that began with status 201.
func (a *answer) send(b []byte) error {
	if !a.started {
		a.WriteHeader(http.StatusCreated)
	} else if err := http.NewResponseController(a.ResponseWriter).SetWriteDeadline(time.Now().Add(writeTime)); err != nil {
		return err
	}
	_, err := a.Write(b)
	return err
}

// lease takes a lease of up to count names.
func (s *Server) lease(a *answer, count uint64) (*keygen.Lease, error) {
	p := patience{answer: a}
	defer p.end()
	l, err := s.Minter.Lease(&p, count)
	if err != nil {
		return nil, unavailable(fmt.Errorf("mint: %w", err))
	}
	return l, nil
}

// life returns for how long names may be minted from a lease of a class.
func life(class keygen.Class) time.Duration {
	if class == keygen.ClassH {
		return time.Minute
	}
	return time.Second
}
