package api

import (
	"context"
	"fmt"
	"io"
	"time"
)

// silence is how long a daemon may say nothing before it is taken to hang. It takes
// 30 seconds at most for what it asks of its TPM, and asks twice for a renewal.
const silence = 65 * time.Second

// watched is a request under way, which ends when the daemon says nothing.
type watched struct {
	ctx   context.Context
	end   func()
	timer *time.Timer
}

func watch(ctx context.Context) *watched {
	ctx, cancel := context.WithCancelCause(ctx)
	w := &watched{ctx: ctx}
	w.timer = time.AfterFunc(silence, func() {
		cancel(fmt.Errorf("%w: it said nothing for %v: see what it waits for, or start it anew", ErrUnanswered, silence))
	})
	w.end = func() {
		w.timer.Stop()
		cancel(nil)
	}
	return w
}

// answerBody is the body of an answer. Its errors are explained, and so differ from
// those of where it is copied to.
type answerBody struct {
	io.ReadCloser
	client  *Client
	watched *watched
}

// Read waits for the next part. While its caller is busy with it no time counts.
func (b *answerBody) Read(p []byte) (int, error) {
	b.watched.timer.Reset(silence)
	n, err := b.ReadCloser.Read(p)
	b.watched.timer.Stop()
	if err != nil && err != io.EOF {
		err = b.client.explain(err)
	}
	return n, err
}

// Close ends the request.
func (b *answerBody) Close() error {
	defer b.watched.end()
	return b.ReadCloser.Close()
}
