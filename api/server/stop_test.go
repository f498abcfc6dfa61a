package server

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/opmint/opmint/api"
	"github.com/opmint/opmint/keygen"
)

// TestStopCutsOff: a stop that does not wait for a client any longer says so.
func TestStopCutsOff(t *testing.T) {
	for stalled, says := range map[int]string{0: "", 2: "requests=2 after=5s"} {
		var log strings.Builder
		configure := func(s *Server) { s.Log = slog.New(slog.NewTextHandler(&log, nil)) }
		inBubble(t, keygen.ClassH, configure, func(t *testing.T, p *pipes) {
			for _, c := range p.dialMany(1000, stalled) {
				if _, err := io.WriteString(c, with("Content-Length: 2")+"{"); err != nil {
					t.Fatal(err)
				}
			}
			synctest.Wait()
		})
		if (log.Len() == 0) != (says == "") || !strings.Contains(log.String(), says) {
			t.Errorf("%d stalled: the log says %q, want %q", stalled, log.String(), says)
		}
	}
}

// TestStopAnswers: a client that was let in before the stop has its answer, though it
// asks later, and no other one. Connections that are idle end.
func TestStopAnswers(t *testing.T) {
	inBubble(t, keygen.ClassH, func(*Server) {}, func(t *testing.T, p *pipes) {
		idle, fresh := p.dial(1000), p.dial(1000)
		p.request(idle, post("/v1/names"))
		synctest.Wait()
		p.stop()
		synctest.Wait()
		if n, err := idle.Read(make([]byte, 1)); n != 0 || err == nil {
			t.Errorf("the idle connection after the stop: %d, %v", n, err)
		}
		if answer := p.request(fresh, post("/v1/names")); answer.StatusCode != http.StatusCreated || !answer.Close {
			t.Errorf("status %d, and to be closed: %v", answer.StatusCode, answer.Close)
		}
	})
}

// TestUnavailable: Retry-After stands where waiting may help.
func TestUnavailable(t *testing.T) {
	for err, helps := range map[error]bool{
		errors.New("the chip is on fire"): true, keygen.ErrWentBack: false, keygen.ErrExhausted: false,
	} {
		p := api.NewProblem(unavailable(fmt.Errorf("mint: %w", err)))
		if p.Code() != "unavailable" || (p.RetryAfter > 0) != helps || p.Detail != "unavailable: mint: "+err.Error() {
			t.Errorf("%v: %+v", err, p)
		}
	}
}
