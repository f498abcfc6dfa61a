package api_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/opmint/opmint/api"
)

const halfAnswer = "HTTP/1.1 201 Created\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"

// TestCutOff: a daemon that ends before it has answered leaves the outcome open.
func TestCutOff(t *testing.T) {
	for name, c := range map[string]struct {
		answer string
		reads  bool // the request, before it closes
	}{
		"at once":               {"", false},
		"after the request":     {"", true},
		"in the header":         {"HTTP/1.1 201 Cre", true},
		"in the answer":         {halfAnswer, true},
		"in a problem":          {strings.Replace(halfAnswer, "201 Created", "503 Unavailable", 1), true},
		"before the first name": {halfAnswer[:len(halfAnswer)-1], true},
	} {
		t.Run(name, func(t *testing.T) {
			socket := socketIn(t)
			l, err := net.Listen("unix", socket)
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			go func() {
				for {
					conn, err := l.Accept()
					if err != nil {
						return
					}
					if c.reads {
						_, _ = http.ReadRequest(bufio.NewReader(conn))
					}
					_, _ = io.WriteString(conn, c.answer)
					conn.Close()
				}
			}()
			client := api.Client{Socket: socket}
			_, minted := client.Mint(t.Context(), api.MintRequest{})
			_, renewed := client.Renew(t.Context())
			for what, err := range map[string]error{
				"Mint": minted, "Renew": renewed,
				"MintTo": client.MintTo(t.Context(), io.Discard, api.MintRequest{}),
				"Relay":  client.Relay(t.Context(), io.Discard, "POST", "/v1/names"),
			} {
				if !errors.Is(err, api.ErrUnanswered) {
					t.Errorf("%s: %v", what, err)
				}
			}
		})
	}
}

// broken is a pipe that nobody reads.
type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, syscall.EPIPE }

// TestNowhereToWrite: that the names can't be written is no fault of the daemon's.
func TestNowhereToWrite(t *testing.T) {
	c, _, _ := start(t, socketIn(t), 0)
	for what, err := range map[string]error{
		"MintTo": c.MintTo(t.Context(), broken{}, api.MintRequest{}),
		"Relay":  c.Relay(t.Context(), broken{}, "POST", "/v1/names"),
	} {
		if !errors.Is(err, syscall.EPIPE) || errors.Is(err, api.ErrUnanswered) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestQueueFull: a daemon that does not come to accept is overloaded.
func TestQueueFull(t *testing.T) {
	socket := socketIn(t)
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(fd)
	if err := errors.Join(syscall.Bind(fd, &syscall.SockaddrUnix{Name: socket}), syscall.Listen(fd, 0)); err != nil {
		t.Fatal(err)
	}
	for {
		c, err := net.Dial("unix", socket)
		if err != nil {
			break
		}
		defer c.Close()
	}
	client := api.Client{Socket: socket}
	if _, err := client.Mint(t.Context(), api.MintRequest{}); !errors.Is(err, api.ErrOverloaded) {
		t.Error(err)
	}
}

// TestWrongSockets: what is no socket is not a daemon that may come yet.
func TestWrongSockets(t *testing.T) {
	for socket, says := range map[string]string{
		t.TempDir(): "is no socket", os.DevNull: "is no socket", "@opmint": "./", strings.Repeat("x", 120): "120 bytes",
	} {
		client := api.Client{Socket: socket}
		_, err := client.Mint(t.Context(), api.MintRequest{})
		if err == nil || errors.Is(err, api.ErrNoDaemon) || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want it to say %q", socket, err, says)
		}
	}
}

// slow takes longer for its first line than a daemon may.
type slow struct{ strings.Builder }

func (s *slow) Write(b []byte) (int, error) {
	if s.Len() == 0 {
		time.Sleep(2 * api.Silence)
	}
	return s.Builder.Write(b)
}

// TestSilence: a daemon that hangs is not waited for for ever, before its answer or
// in the middle of it; a reader that takes its time is.
func TestSilence(t *testing.T) {
	for _, answer := range []string{"", halfAnswer} {
		synctest.Test(t, func(t *testing.T) {
			c := api.ClientOf(func() net.Conn {
				client, daemon := net.Pipe()
				go func() {
					_, _ = http.ReadRequest(bufio.NewReader(daemon))
					_, _ = io.WriteString(daemon, answer)
					_, _ = io.Copy(io.Discard, daemon)
				}()
				return client
			})
			begin := time.Now()
			_, err := c.Identity(t.Context())
			if passed := time.Since(begin); !errors.Is(err, api.ErrUnanswered) || passed != api.Silence {
				t.Errorf("after %v: %v", passed, err)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		c := api.ClientOf(func() net.Conn {
			client, daemon := net.Pipe()
			go func() {
				_, _ = http.ReadRequest(bufio.NewReader(daemon))
				_, _ = io.WriteString(daemon, "HTTP/1.1 201 Created\r\nConnection: close\r\n\r\n"+strings.Repeat("x", 100_000))
				daemon.Close()
			}()
			return client
		})
		var w slow
		if err := c.MintTo(t.Context(), &w, api.MintRequest{}); err != nil || w.Len() != 100_000 {
			t.Errorf("%d bytes, %v", w.Len(), err)
		}
	})
}
