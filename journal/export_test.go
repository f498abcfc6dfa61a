package journal

import (
	"context"
	"time"
)

// KeepStep takes one step of Keep.
func (in *Intents) KeepStep(ctx context.Context) (wait time.Duration, err error) { return in.keep(ctx) }

// RespellIntent reads an intent's record and returns how it is written.
func RespellIntent(b []byte) ([]byte, error) {
	r, err := decodeIntent("i/", b)
	return r.encode(), err
}

// RespellItem reads the record of an intent in a stream and returns how it is
// written.
func RespellItem(b []byte) ([]byte, error) {
	r, err := decodeItem("m/", b)
	return r.encode(), err
}
