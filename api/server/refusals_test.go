package server

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/opmint/opmint/api"
	"github.com/opmint/opmint/keygen"
)

// logBuffer is a log that can be read while it is written.
type logBuffer struct {
	mu sync.Mutex
	bytes.Buffer
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.Write(p)
}

// records returns what was logged with a message.
func (b *logBuffer) records(t *testing.T, message string) (found []map[string]any) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for line := range bytes.Lines(b.Bytes()) {
		var r map[string]any
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if r["msg"] == message {
			found = append(found, r)
		}
	}
	return found
}

// logTo makes a server log to b, at a level.
func (s *Server) logTo(b *logBuffer, level slog.Level) {
	s.Log = slog.New(slog.NewJSONHandler(b, &slog.HandlerOptions{Level: level}))
	s.lines = newLines(s.Log)
}

// TestRefusalsInTheLog: each refusal is one line that says who was refused what and
// why; a flood of them is a few lines, and how many there would have been.
func TestRefusalsInTheLog(t *testing.T) {
	var log logBuffer
	inBubble(t, keygen.ClassH, func(s *Server) { s.logTo(&log, slog.LevelInfo) }, func(t *testing.T, p *pipes) {
		c := p.dial(1000)
		defer c.Close()
		for range 500 {
			p.request(c, post("/v1/names?count=0"))
		}
		p.request(c, get("/v1/nowhere"))
		synctest.Wait()
		if all := log.records(t, "refused"); len(all) != linesMost+1 {
			t.Errorf("%d lines", len(all))
		}
		first := log.records(t, "refused")[0]
		for attr, want := range map[string]any{
			"level": "INFO", "code": "bad-request", "status": 400., "uid": 1000., "method": "POST",
			"target": "/v1/names?count=0", "reason": `bad request: count "0": a number from 1 to 1000000`,
		} {
			if first[attr] != want {
				t.Errorf("%s: %v, want %v", attr, first[attr], want)
			}
		}
		time.Sleep(linesTime)
		synctest.Wait()
		left := log.records(t, "left out of the log")
		if len(left) != 1 || left[0]["kind"] != "bad-request" || left[0]["lines"] != 490. {
			t.Errorf("%v", left)
		}
		p.request(c, post("/v1/names?count=0"))
		if all := log.records(t, "refused"); len(all) != linesMost+2 {
			t.Errorf("%d lines after a minute", len(all))
		}
		for range 20 {
			p.request(c, post("/v1/names?count=0"))
		}
	})
	if left := log.records(t, "left out of the log"); len(left) != 2 || left[1]["lines"] != 11. {
		t.Errorf("at the end: %v", left)
	}
}

func TestLevelsOfRefusals(t *testing.T) {
	var log logBuffer
	s, _ := newServer(t, keygen.ClassH, 0)
	s.logTo(&log, slog.LevelDebug)
	for _, c := range []struct {
		err   error
		level string
	}{
		{api.ErrForbidden, "INFO"}, {overloaded(429, 0, ""), "WARN"}, {overloaded(503, 0, ""), "WARN"},
		{api.ErrUnavailable, "WARN"}, {api.ErrInternal, "ERROR"},
	} {
		before := len(log.records(t, "refused"))
		s.noteRefusal(api.NewProblem(c.err))
		if all := log.records(t, "refused"); len(all) != before+1 || all[before]["level"] != c.level {
			t.Errorf("%v: %v", c.err, all[before:])
		}
	}
}

// TestDebugShowsRequests, and never the keys that were answered.
func TestDebugShowsRequests(t *testing.T) {
	var log logBuffer
	s, _ := newServer(t, keygen.ClassH, 0)
	s.logTo(&log, slog.LevelDebug)
	for i, want := range []struct {
		method, target, body string
		status               int
	}{
		{"POST", "/v1/names", "", 201},
		{"POST", "/v1/leases", `{"count":3}`, 201},
		{"POST", "/v1/leases", `{"count":0}`, 400},
		{"GET", "/v1/healthz", "", 200},
	} {
		r := requestAs(caller{uid: 1000}, want.method, want.target, "*/*")
		r.Body, r.ContentLength = io.NopCloser(strings.NewReader(want.body)), int64(len(want.body))
		body, err := io.ReadAll(s.serve(r).Body)
		if err != nil {
			t.Fatal(err)
		}
		all := log.records(t, "request")
		if got := all[i]; len(all) != i+1 || got["level"] != "DEBUG" || got["method"] != want.method ||
			got["target"] != want.target || got["status"] != float64(want.status) || got["uid"] != 1000. {
			t.Errorf("%v", got)
		}
		var l struct{ Key string }
		if err := json.Unmarshal(body, &l); err != nil || l.Key != "" && strings.Contains(log.String(), l.Key) {
			t.Errorf("the log has the key %s: %v", l.Key, err)
		}
	}
}
