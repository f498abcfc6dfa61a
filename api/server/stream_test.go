package server

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"runtime"
	"testing"

	"github.com/opmint/opmint/keygen"
)

const million = "POST /v1/names?count=1000000 HTTP/1.1\r\nHost: opmint\r\nAccept: text/plain\r\n\r\n"

// readAnswer reads a whole answer, and returns how much of its body came.
func readAnswer(c net.Conn) (*http.Response, int64, error) {
	answer, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return nil, 0, err
	}
	if answer.StatusCode/100 != 2 {
		return answer, 0, nil
	}
	n, err := io.Copy(io.Discard, answer.Body)
	return answer, n, err
}

// TestStreamToSlowClients: clients that ask for a million names and read slowly,
// stop, or go away take no more memory than a buffer each, and others get their
// names meanwhile.
func TestStreamToSlowClients(t *testing.T) {
	d := startServer(t, 0)
	const each = 20
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)

	var slow []*bufio.Reader
	for range each {
		silent, gone, reader := d.dial(), d.dial(), d.dial()
		for _, c := range []*net.UnixConn{silent, gone, reader} {
			if _, err := io.WriteString(c, million); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := io.ReadFull(gone, make([]byte, 100_000)); err != nil {
			t.Fatal(err)
		}
		gone.Close()
		slow = append(slow, bufio.NewReader(reader))
	}
	for range 10 {
		for _, r := range slow {
			if _, err := io.ReadFull(r, make([]byte, 4096)); err != nil {
				t.Fatal(err)
			}
		}
		c := d.dial()
		if _, err := io.WriteString(c, post("/v1/names?count=1000")); err != nil {
			t.Fatal(err)
		}
		if answer, n, err := readAnswer(c); err != nil || n != answer.ContentLength {
			t.Fatalf("another client: %v, %d bytes, %v", answer, n, err)
		}
		c.Close()
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 3*each*(bufferSize+64<<10) {
		t.Errorf("%d clients take %d bytes", 3*each, grown)
	}
}

// TestStreamOfAMillion: all of them arrive, in order, as text and as JSON.
func TestStreamOfAMillion(t *testing.T) {
	d := startServer(t, 0)
	c := d.dial()
	if _, err := io.WriteString(c, million); err != nil {
		t.Fatal(err)
	}
	answer, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil || answer.ContentLength != 59_000_000 {
		t.Fatalf("%v, %v", answer, err)
	}
	lines := bufio.NewScanner(answer.Body)
	seq := uint64(0)
	for ; lines.Scan(); seq++ {
		if name, err := keygen.Parse(lines.Text()); err != nil || name.Seq() != seq {
			t.Fatalf("name %d: %q, %v", seq, lines.Text(), err)
		}
	}
	if lines.Err() != nil || seq != 1_000_000 {
		t.Errorf("%d names, %v", seq, lines.Err())
	}
}
