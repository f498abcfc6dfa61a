package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// startRedis serves a Redis of our own in a new folder in dir, which has each write on
// the disk before it answers, and returns its socket.
func (s *servers) startRedis(ctx context.Context, dir string) (socket string, err error) {
	data := filepath.Join(dir, "redis")
	socket = filepath.Join(data, "socket")
	if err := os.Mkdir(data, 0o700); err != nil {
		return "", err
	}
	err = s.start(ctx, socket, "redis-server", "--port", "0", "--unixsocket", socket, "--dir", data,
		"--save", "", "--appendonly", "yes", "--appendfsync", "always")
	if err != nil {
		err = fmt.Errorf("%w (it is in the package redis-server)", err)
	}
	return socket, err
}

// keys are clients of Redis that set a key if it is not there, and set it again.
func keys(socket string, clients int, fresh func() string) *dialogue {
	set := func(value string, more ...string) func([]byte, string) []byte {
		return func(b []byte, name string) []byte {
			return command(b, append([]string{"SET", "bench:" + name, value}, more...)...)
		}
	}
	return newDialogue(socket, clients, fresh, readOK,
		set("running bench "+benchFingerprint, "NX"), set("applied 201 ok "+benchFingerprint))
}

// command appends a command as Redis reads it (RESP).
func command(b []byte, words ...string) []byte {
	b = fmt.Appendf(b, "*%d\r\n", len(words))
	for _, word := range words {
		b = fmt.Appendf(b, "$%d\r\n%s\r\n", len(word), word)
	}
	return b
}

// readOK reads the answer to a SET that was done.
func readOK(c io.Reader, buf []byte) error {
	ok := []byte("+OK\r\n")
	n, err := io.ReadFull(c, buf[:len(ok)])
	if err == nil && !bytes.Equal(buf[:n], ok) {
		err = fmt.Errorf("redis answers %q", buf[:n])
	}
	return err
}
