package api_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/opmint/opmint/api"
	"github.com/opmint/opmint/api/server"
	"github.com/opmint/opmint/keygen"
)

var testIdentity = keygen.NewIdentity([32]byte{1}, [32]byte{2}, [16]byte{3})

// start starts a server, and returns a client of it and a function that stops it.
func start(t *testing.T, socket string, uid uint32) (*api.Client, *source, func()) {
	t.Helper()
	s := new(source)
	if err := s.Renew(t.Context()); err != nil {
		t.Fatal(err)
	}
	l, err := server.Listen(socket)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		done <- server.New(server.Config{
			Minter: s, Source: s, Version: "v1.2.3", UID: uid, NamesPerEpoch: 10_000,
			Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
		}).Serve(ctx, l)
	}()
	stop := func() {
		if cancel(); done != nil {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		done = nil
	}
	t.Cleanup(stop)
	return &api.Client{Socket: socket}, s, stop
}

func socketIn(t *testing.T) string { return filepath.Join(t.TempDir(), "s") }

func TestClient(t *testing.T) {
	c, _, _ := start(t, socketIn(t), uint32(os.Geteuid()))
	ctx := t.Context()

	names, err := c.Mint(ctx, api.MintRequest{})
	if err != nil || len(names.Names) != 1 || names.Class != keygen.ClassH || names.Identity != testIdentity ||
		names.Epoch != 1 {
		t.Fatalf("%+v, %v", names, err)
	}
	name, err := keygen.Parse(names.Names[0])
	if err != nil {
		t.Fatal(err)
	}
	info, err := c.Name(ctx, name)
	if err != nil || info.Name != name || !info.Here || *info.Seq != 0 ||
		!info.Claimed.Equal(time.Unix(1_900_000_000, 0)) {
		t.Errorf("%+v, %v", info, err)
	}
	uuids, err := c.Mint(ctx, api.MintRequest{Count: 3, Format: keygen.FormatUUID})
	if err != nil || len(uuids.Names) != 3 || len(uuids.Names[2]) != 36 {
		t.Errorf("%+v, %v", uuids, err)
	}
	var text bytes.Buffer
	err = c.MintTo(ctx, &text, api.MintRequest{Count: 5000})
	if err != nil || strings.Count(text.String(), "\n") != 5000 {
		t.Errorf("%d bytes, %v", text.Len(), err)
	}
	text.Reset()
	err = c.Relay(ctx, &text, "POST", "/v1/names?count=2&format=uuid")
	if err != nil || !strings.HasPrefix(text.String(), `{"names":["`) || !strings.HasSuffix(text.String(), "}\n") {
		t.Errorf("%q, %v", &text, err)
	}
	id, err := c.Identity(ctx)
	if err != nil || id.Identity != testIdentity || id.Epoch != 1 || !id.Assumed || *id.Counter != 1 {
		t.Errorf("%+v, %v", id, err)
	}
	if id, err := c.Renew(ctx); err != nil || id.Epoch != 2 {
		t.Errorf("%+v, %v", id, err)
	}
	if h, err := c.Health(ctx); err != nil || *h != (api.Health{Version: "v1.2.3", API: api.Level}) {
		t.Errorf("%+v, %v", h, err)
	}
	if r, err := c.Ready(ctx); err != nil || *r != (api.Readiness{Ready: true}) {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestErrorsCrossTheSocket: what the server refuses with, the client returns.
func TestErrorsCrossTheSocket(t *testing.T) {
	c, s, _ := start(t, socketIn(t), uint32(os.Geteuid()))
	if _, err := c.Mint(t.Context(), api.MintRequest{Count: -100}); !errors.Is(err, api.ErrBadRequest) ||
		errors.Is(err, api.ErrForbidden) || !strings.Contains(err.Error(), "-100") {
		t.Errorf("a bad count: %v", err)
	}
	if err := c.MintTo(t.Context(), io.Discard, api.MintRequest{Format: "guid"}); !errors.Is(err, api.ErrBadRequest) {
		t.Errorf("a bad format: %v", err)
	}
	s.fail = errors.New("the chip is on fire")
	if _, err := c.Renew(t.Context()); !errors.Is(err, api.ErrUnavailable) || !strings.Contains(err.Error(), "on fire") {
		t.Errorf("no claim: %v", err)
	}
	overloaded := api.NewProblem(api.ErrOverloaded)
	overloaded.RetryAfter = time.Minute
	s.fail = overloaded
	_, err := c.Renew(t.Context())
	p, ok := errors.AsType[*api.Problem](err)
	if !errors.Is(err, api.ErrOverloaded) || !ok || p.RetryAfter != time.Minute || p.Status != 503 ||
		p.Code() != "overloaded" {
		t.Errorf("no claims left: %v, %+v", err, p)
	}
}

// TestErrorBreaksOff: names that did not all arrive are an error.
func TestErrorBreaksOff(t *testing.T) {
	c, s, _ := start(t, socketIn(t), 0)
	s.fail = errors.New("the chip is on fire")
	var text bytes.Buffer
	err := c.MintTo(t.Context(), &text, api.MintRequest{Count: 15_000})
	if err == nil || text.Len() == 0 || text.Len() >= 15_000*59 {
		t.Errorf("%d bytes, %v", text.Len(), err)
	}
	if err := c.Relay(t.Context(), io.Discard, "POST", "/v1/names?count=15000"); err == nil {
		t.Error("half an answer was passed on without an error")
	}
}

func TestNoDaemon(t *testing.T) {
	dead := socketIn(t)
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: dead, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	l.Close()
	for _, socket := range []string{dead, dead + ".none"} {
		c := api.Client{Socket: socket}
		_, err := c.Mint(t.Context(), api.MintRequest{})
		if !errors.Is(err, api.ErrNoDaemon) || !strings.Contains(err.Error(), socket) {
			t.Errorf("%s: %v", socket, err)
		}
	}
}

// TestClientOutlivesTheDaemon: a client with kept connections goes on with a
// daemon that was started anew.
func TestClientOutlivesTheDaemon(t *testing.T) {
	socket := socketIn(t)
	c, _, stop := start(t, socket, 0)
	if _, err := c.Mint(t.Context(), api.MintRequest{}); err != nil {
		t.Fatal(err)
	}
	stop()
	if _, err := c.Mint(t.Context(), api.MintRequest{}); !errors.Is(err, api.ErrNoDaemon) {
		t.Errorf("while there is none: %v", err)
	}
	start(t, socket, 0)
	if _, err := c.Mint(t.Context(), api.MintRequest{}); err != nil {
		t.Errorf("with the next one: %v", err)
	}
}

// TestOtherServers: what does not answer as opmintd does is an error that says so.
func TestOtherServers(t *testing.T) {
	for name, c := range map[string]struct {
		handler http.HandlerFunc
		says    string
	}{
		"a web server": {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no such page", 404) }, "no such page"},
		"a redirect":   {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/", http.StatusFound) }, "302"},
		"no JSON":      {func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "hello") }, "invalid character"},
		"a problem without a body": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(500)
		}, "500"},
	} {
		t.Run(name, func(t *testing.T) {
			socket := socketIn(t)
			l, err := net.Listen("unix", socket)
			if err != nil {
				t.Fatal(err)
			}
			web := http.Server{Handler: c.handler}
			go web.Serve(l)
			defer web.Close()
			client := api.Client{Socket: socket}
			if _, err := client.Mint(t.Context(), api.MintRequest{}); err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v, want it to say %q", err, c.says)
			}
		})
	}
}

// TestAnswersOfTheFuture: fields that this client does not know are no error.
func TestAnswersOfTheFuture(t *testing.T) {
	const answer = `{"version":"v9", "api":9,"mood":"good"}` + "\n \n"
	socket := socketIn(t)
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	web := http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, answer)
	})}
	go web.Serve(l)
	defer web.Close()
	client := api.Client{Socket: socket}
	if h, err := client.Health(t.Context()); err != nil || h.API != 9 {
		t.Errorf("%+v, %v", h, err)
	}
	var relayed bytes.Buffer
	if err := client.Relay(t.Context(), &relayed, "GET", "/v1/healthz"); err != nil || relayed.String() != answer {
		t.Errorf("passed on: %q, %v", &relayed, err)
	}
}
