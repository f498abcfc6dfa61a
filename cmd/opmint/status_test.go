package main

import (
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
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
