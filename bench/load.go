package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"
)

// protocol is how a server is asked for one thing: the bytes of a request, and
// what reads its answer, to which buf lends space.
type protocol struct {
	request []byte
	read    func(c io.Reader, buf []byte) error
}

// Requests of a server each; mintMany is one for a million names as text.
var (
	echo64   = protocol{bytes.Repeat([]byte{'e'}, 64), readBytes(64)}
	mintOne  = protocol{[]byte("POST /v1/names HTTP/1.1\r\nHost: opmint\r\n\r\n"), readHTTP}
	mintMany = protocol{[]byte("POST /v1/names?count=1000000 HTTP/1.1\r\nHost: opmint\r\n" +
		"Accept: text/plain\r\n\r\n"), readHTTP}

	// uuidd's operations are a byte, its answers a length, an int, and a UUID
	// (util-linux, misc-utils/uuidd.c).
	uuiddTime   = protocol{[]byte{2}, readBytes(4 + 16)}
	uuiddRandom = protocol{[]byte{3}, readBytes(4 + 16)}
)

// readBytes reads answers of n bytes.
func readBytes(n int) func(io.Reader, []byte) error {
	return func(c io.Reader, buf []byte) error {
		_, err := io.ReadFull(c, buf[:n])
		return err
	}
}

// readHTTP reads an answer that says 201, or 200, and how long it is.
func readHTTP(c io.Reader, buf []byte) error {
	var head, body []byte
	for got, found := 0, false; !found; {
		if got == len(buf) {
			return errors.New("the answer's header has no end")
		}
		n, err := c.Read(buf[got:])
		if err != nil {
			return err
		}
		got += n
		head, body, found = bytes.Cut(buf[:got], []byte("\r\n\r\n"))
	}
	if !bytes.HasPrefix(head, []byte("HTTP/1.1 201 ")) && !bytes.HasPrefix(head, []byte("HTTP/1.1 200 ")) {
		return fmt.Errorf("the answer is %q", head)
	}
	_, length, _ := bytes.Cut(head, []byte("\r\nContent-Length: "))
	length, _, _ = bytes.Cut(length, []byte("\r\n"))
	left, err := strconv.Atoi(string(length))
	if err != nil {
		return fmt.Errorf("the answer is %q: %w", head, err)
	}
	for left -= len(body); left > 0; {
		n, err := c.Read(buf)
		if err != nil {
			return fmt.Errorf("%d bytes before the end: %w", left, err)
		}
		left -= n
	}
	return nil
}

// load is what clients do to a server, all at once.
type load struct {
	socket  string
	clients []client
	keep    bool // the connections
	protocol
	make func(b []byte) []byte // appends a request to b, where each is another; else nil
}

// client is one of them.
type client struct {
	conn net.Conn
	buf  []byte
}

func newLoad(socket string, clients int, keep bool, p protocol) *load {
	l := &load{socket: socket, clients: make([]client, clients), keep: keep, protocol: p}
	for i := range l.clients {
		l.clients[i].buf = make([]byte, 64<<10)
	}
	return l
}

// run makes n requests, which the clients share.
func (l *load) run(n int) error {
	errs := make([]error, len(l.clients))
	var all sync.WaitGroup
	for i := range l.clients {
		share := n / len(l.clients)
		if i < n%len(l.clients) {
			share++
		}
		all.Go(func() {
			for range share {
				if errs[i] = l.ask(&l.clients[i]); errs[i] != nil {
					return
				}
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// ask makes one request.
func (l *load) ask(c *client) error {
	request := l.request
	if l.make != nil {
		request = l.make(c.buf[:0])
	}
	return l.send(c, request)
}

// send sends a request and reads its answer.
func (l *load) send(c *client, request []byte) (err error) {
	if c.conn == nil {
		if c.conn, err = net.Dial("unix", l.socket); err != nil {
			return err
		}
	}
	if _, err := c.conn.Write(request); err != nil {
		return err
	}
	if err := l.read(c.conn, c.buf); err != nil || l.keep {
		return err
	}
	defer func() { c.conn = nil }()
	return c.conn.Close()
}
