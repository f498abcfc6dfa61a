package server

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
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
