package main

import (
	"encoding/binary"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/go-tpm/tpm2"
	"github.com/rogpeppe/go-internal/testscript"
)

// serve listens for the rest of the script and sets TPM to where. Each
// connection is answered by next, until it returns nil; then all are cut off.
func serve(ts *testscript.TestScript, next func(cmd []byte) []byte) {
	dir, err := os.MkdirTemp("", "opmint")
	ts.Check(err)
	listener, err := net.Listen("unix", filepath.Join(dir, "tpm"))
	ts.Check(err)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for down := false; ; {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			for !down {
				cmd, err := readMessage(conn)
				if err != nil {
					break
				}
				rsp := next(cmd)
				if down = rsp == nil; down {
					break
				}
				_, _ = conn.Write(rsp)
			}
			conn.Close()
		}
	}()
	ts.Defer(func() {
		listener.Close()
		<-ended
		ts.Check(os.RemoveAll(dir))
	})
	ts.Setenv("TPM", "unix:"+filepath.Join(dir, "tpm"))
}

// readMessage reads a command or an answer.
func readMessage(r io.Reader) ([]byte, error) {
	head := make([]byte, 10)
	if _, err := io.ReadFull(r, head); err != nil {
		return nil, err
	}
	rest := make([]byte, binary.BigEndian.Uint32(head[2:])-10)
	_, err := io.ReadFull(r, rest)
	return append(head, rest...), err
}

func answerErrors(ts *testscript.TestScript, args []string) {
	code := uint32(handle(ts, args[0]))
	serve(ts, func([]byte) []byte {
		return binary.BigEndian.AppendUint32([]byte{0x80, 0x01, 0, 0, 0, 10}, code)
	})
}

// forward passes a command on to a TPM. Without an answer it returns nil.
func forward(addr string, cmd []byte) []byte {
	conn, err := net.Dial("unix", strings.TrimPrefix(addr, "unix:"))
	if err != nil {
		return nil
	}
	defer conn.Close()
	if _, err := conn.Write(cmd); err != nil {
		return nil
	}
	rsp, err := readMessage(conn)
	if err != nil {
		return nil
	}
	return rsp
}

// code returns the code of a command.
func code(cmd []byte) tpm2.TPMCC { return tpm2.TPMCC(binary.BigEndian.Uint32(cmd[6:])) }

func loseAnswers(ts *testscript.TestScript, _ []string) {
	behind := ts.Getenv("TPM")
	serve(ts, func(cmd []byte) []byte {
		rsp := forward(behind, cmd)
		if code(cmd) == tpm2.TPMCCNVDefineSpace {
			return nil
		}
		return rsp
	})
}

func stealIndex(ts *testscript.TestScript, args []string) {
	index := handle(ts, args[0])
	behind := ts.Getenv("TPM")
	remove := tpm2.NVUndefineSpace{
		AuthHandle: tpm2.TPMRHOwner,
		NVIndex:    tpm2.NamedHandle{Handle: index, Name: ask(ts, tpm2.NVReadPublic{NVIndex: index}).NVName},
	}
	serve(ts, func(cmd []byte) []byte {
		if code(cmd) == tpm2.TPMCCCreatePrimary {
			if _, err := askAt(behind, remove); err != nil {
				return nil
			}
		}
		return forward(behind, cmd)
	})
}
