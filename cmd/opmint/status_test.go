package main

import (
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/opmint/opmint/api"
	"github.com/opmint/opmint/keygen"
	"github.com/opmint/opmint/vtpmdetect"
)

// TestStatusAsksAtOnce: the identity and the readiness, each of which a TPM that
// does not answer delays, are asked for together.
func TestStatusAsksAtOnce(t *testing.T) {
	for _, flag := range []string{"--json=false", "--json=true"} {
		socket := filepath.Join(t.TempDir(), "s")
		l, err := net.Listen("unix", socket)
		if err != nil {
			t.Fatal(err)
		}
		var both sync.WaitGroup
		both.Add(2)
		met := make(chan struct{})
		go func() {
			both.Wait()
			close(met)
		}()
		web := http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			answer := `{"version":"v1","api":1}`
			if r.URL.Path != "/v1/healthz" {
				both.Done()
				select {
				case <-met:
				case <-r.Context().Done(): // nobody waits for the answer any more
					t.Errorf("%s is asked alone", r.URL.Path)
				}
				answer = `{"class":"h","identity":"5jdhfk10qsggpbkghq","epoch":1,"ready":true}`
			}
			_, _ = io.WriteString(w, answer)
		})}
		go web.Serve(l)
		var stdout, stderr strings.Builder
		code := run([]string{"status", flag, "--socket", socket}, strings.NewReader(""), &stdout, &stderr)
		if code != exitDone || !strings.Contains(stdout.String(), "5jdhfk10qsggpbkghq") || stderr.Len() > 0 {
			t.Errorf("%s: exit code %d, %q, %q", flag, code, &stdout, &stderr)
		}
		web.Close()
	}
}

// TestPrintStatus prints what a testDaemon never has: a TPM that was judged, and
// rollbacks.
func TestPrintStatus(t *testing.T) {
	id := &api.Identity{
		Class: keygen.ClassV, Epoch: 25_000, Counter: new(uint64(25_000)), FreshRandomness: true,
		Evidence: vtpmdetect.Evidence{TPM: &vtpmdetect.TPM{Manufacturer: 0x49465800, VendorString: new("SLB9670"),
			Driver: "tpm_tis"}},
		Verdict: vtpmdetect.Verdict{TPM: vtpmdetect.TPMShared, Host: vtpmdetect.HostVM, Class: vtpmdetect.ClassV,
			Reasons: []vtpmdetect.Reason{{Why: "a chip, seen from a VM"}}},
	}
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for i, what := range []string{"journal", "tpm", "generation", "clock", "ledger", "moon"} {
		id.Rollbacks = append(id.Rollbacks, api.Rollback{Time: at.AddDate(0, i, 0), What: what, Seen: 3, Expected: 4})
	}
	var out strings.Builder
	if err := printStatus(&out, "/s", &api.Health{Version: "v1", API: 1}, id, "yes"); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"machine   TPM shared, host vm: a chip, seen from a VM",
		`tpm       of maker IFX, "SLB9670", driver tpm_tis`,
		"counter   25000: what the TPM's NV counter shows now; at most 5.0 % of some 500000 writes that a TPM survives",
		"memory    since 2026-05-01T12:00:00Z: what was named before may be forgotten",
		"rollback  older ones: 1, with --json",
		"rollback  tpm at 2026-04-01T12:00:00Z: the TPM went back in time, as with its VM; " +
			"names are of class v until its counter is made anew (seen 3, expected 4)",
		"rollback  clock at 2026-06-01T12:00:00Z: the clock jumped, perhaps with the machine; " +
			"names go on under another epoch (seen 1970-01-01T00:00:00Z, expected 1970-01-01T00:00:00Z)",
		"rollback  moon at 2026-08-01T12:00:00Z: this version does not know what it means (seen 3, expected 4)",
	} {
		if !strings.Contains(out.String(), "\n"+want+"\n") {
			t.Errorf("no line %q in\n%s", want, &out)
		}
	}
	if n := strings.Count(out.String(), "\n"); n > 24 {
		t.Errorf("%d lines are more than a screen", n)
	}
}
