package tpm

import (
	"encoding/binary"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-tpm-tools/simulator"
	"github.com/google/go-tpm/tpm2"
)

// chip is the reference TPM. There is one in a process.
type chip struct {
	mu  sync.Mutex
	sim *simulator.Simulator
}

func newChip(t testing.TB) *chip {
	t.Helper()
	sim, err := simulator.Get()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := sim.Close(); err != nil {
			t.Error(err)
		}
	})
	return &chip{sim: sim}
}

func (c *chip) run(cmd []byte) ([]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, err := c.sim.Write(cmd); err != nil {
		return nil, err
	}
	rsp := make([]byte, maxMessage)
	n, err := c.sim.Read(rsp)
	return rsp[:n], err
}

// simWire is a connection to the reference TPM.
type simWire struct {
	chip    *chip
	managed bool
	closed  func()

	mu   sync.Mutex // a command that was given up runs beside close
	made []uint32   // handles made on this connection
}

func (w *simWire) exchange(cmd []byte, _ time.Time) ([]byte, bool, error) {
	rsp, err := w.chip.run(cmd)
	if err != nil {
		return nil, true, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	cc := code(cmd)
	if (cc == tpm2.TPMCCStartAuthSession || cc == tpm2.TPMCCCreatePrimary) && code(rsp) == 0 {
		w.made = append(w.made, binary.BigEndian.Uint32(rsp[headerSize:]))
	}
	ended := endedSession(cmd, rsp)
	if cc == tpm2.TPMCCFlushContext && code(rsp) == 0 {
		ended = binary.BigEndian.Uint32(cmd[headerSize:])
	}
	if ended != 0 {
		w.made = slices.DeleteFunc(w.made, func(h uint32) bool { return h == ended })
	}
	return rsp, true, nil
}

// endedSession returns the handle of the HMAC session that a command has ended,
// if it has: the answer ends with the attributes and the HMAC, two bytes of
// size and 32 of hash, and the command has the handle behind the one or two
// handles that it works on.
func endedSession(cmd, rsp []byte) uint32 {
	const size = 1 + 2 + 32
	if binary.BigEndian.Uint16(rsp) != uint16(tpm2.TPMSTSessions) || len(rsp) < headerSize+size {
		return 0
	}
	end := rsp[len(rsp)-size:]
	if binary.BigEndian.Uint16(end[1:]) != 32 || end[0]&1 != 0 {
		return 0
	}
	handles := 2
	if cc := code(cmd); cc == tpm2.TPMCCCreatePrimary || cc == tpm2.TPMCCNVDefineSpace {
		handles = 1
	}
	return binary.BigEndian.Uint32(cmd[headerSize+4*handles+4:])
}

func (w *simWire) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, h := range w.made {
		if w.managed {
			cmd := binary.BigEndian.AppendUint32([]byte{0x80, 0x01, 0, 0, 0, 14}, uint32(tpm2.TPMCCFlushContext))
			_, _ = w.chip.run(binary.BigEndian.AppendUint32(cmd, h))
		}
	}
	w.closed()
}
