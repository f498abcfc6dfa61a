package main

import (
	"io"
	"net"
)

// echoCommand is the argument with which this program is an echo server.
const echoCommand = "echo"

// serveEcho listens on a socket and sends back what is sent, 64 bytes at a time:
// what a server in Go costs that does nothing else.
func serveEcho(socket string) error {
	l, err := net.Listen("unix", socket)
	if err != nil {
		return err
	}
	for {
		c, err := l.Accept()
		if err != nil {
			return err
		}
		go func() {
			defer c.Close()
			var buf [64]byte
			for {
				if _, err := io.ReadFull(c, buf[:]); err != nil {
					return
				}
				if _, err := c.Write(buf[:]); err != nil {
					return
				}
			}
		}()
	}
}
