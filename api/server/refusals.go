package server

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/opmint/opmint/api"
)

// How many lines of one kind go to the log, so that no client can fill the disk.
const (
	linesTime = time.Minute
	linesMost = 10 // in linesTime
)

// noteRefusal counts a refusal and writes a line about it, with what else is known
// of it.
func (s *Server) noteRefusal(p *api.Problem, about ...any) {
	s.Metrics.refusal(p).Inc()
	level := slog.LevelInfo
	switch {
	case p.Status == http.StatusInternalServerError:
		level = slog.LevelError
	case p.Status > http.StatusInternalServerError, p.Status == http.StatusTooManyRequests:
		level = slog.LevelWarn
	}
	about = append([]any{"code", p.Code(), "status", p.Status}, about...)
	s.lines.write(p.Code(), level, "refused", append(about, "reason", p.Detail)...)
}

// lines writes lines to a log, and of each kind no more than linesMost in
// linesTime. How many it left out it says when that time is over.
type lines struct {
	log *slog.Logger

	mu    sync.Mutex
	kinds map[string]*kind
}

// kind is a kind of lines. There are but a few.
type kind struct {
	written, leftOut int
	end              *time.Timer // of the time for which they are counted
}

func newLines(log *slog.Logger) *lines { return &lines{log: log, kinds: map[string]*kind{}} }

// write writes a line, or leaves it out.
func (l *lines) write(name string, level slog.Level, message string, about ...any) {
	if !l.log.Enabled(context.Background(), level) {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	k := l.kinds[name]
	if k == nil {
		k = &kind{end: time.AfterFunc(linesTime, func() { l.settle(name) })}
		l.kinds[name] = k
	}
	if k.written == linesMost {
		k.leftOut++
		return
	}
	k.written++
	l.log.Log(context.Background(), level, message, about...)
}

// settle says what was left out of a kind, and begins to count anew.
func (l *lines) settle(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	k := l.kinds[name]
	if k == nil {
		return
	}
	k.end.Stop()
	delete(l.kinds, name)
	if k.leftOut > 0 {
		l.log.Warn("left out of the log", "kind", name, "lines", k.leftOut, "written", k.written)
	}
}

// close settles all kinds.
func (l *lines) close() {
	l.mu.Lock()
	names := make([]string, 0, len(l.kinds))
	for name := range l.kinds {
		names = append(names, name)
	}
	l.mu.Unlock()
	for _, name := range names {
		l.settle(name)
	}
}

// Write writes what net/http has to say.
func (l *lines) Write(b []byte) (int, error) {
	l.write("net/http", slog.LevelWarn, strings.TrimSpace(fmt.Sprintf("%.1000s", b)))
	return len(b), nil
}
