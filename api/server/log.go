package server

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/opmint/opmint/api"
	"github.com/opmint/opmint/ledger"
)

// logPage is how many events are read at a time.
const logPage = 1000

// linesType is the media type of one JSON object a line.
var linesType = []string{"application/jsonl"}

// events answers GET /v1/log.
func (s *Server) events(r *request) (action, error) {
	query, err := r.query("uid", "after", "wait")
	if err != nil {
		return nil, err
	}
	uid, err := r.ownerIn(query)
	if err != nil {
		return nil, err
	}
	q := ledger.LogQuery{UID: uid, All: r.caller.uid == 0 && !query.Has("uid"), Limit: logPage}
	if text := query.Get("after"); query.Has("after") {
		if q.After, err = strconv.ParseUint(text, 10, 64); err != nil || strconv.FormatUint(q.After, 10) != text {
			return nil, fmt.Errorf("%w: after %.40q: the number of an event, or 0", api.ErrBadRequest, text)
		}
	}
	var wait time.Duration
	if query.Has("wait") {
		if wait, err = time.ParseDuration(query.Get("wait")); err != nil || wait < 0 || wait > api.MaxLogWait {
			return nil, fmt.Errorf("%w: wait %.40q: a time from 0 to %v", api.ErrBadRequest, query.Get("wait"), api.MaxLogWait)
		}
	}
	return func(a *answer) error {
		k, err := s.keeper()
		if err != nil {
			return consulted(err)
		}
		// What is waited for is not the client's to read yet. Fails where the answer goes to
		// no connection.
		_ = http.NewResponseController(a.ResponseWriter).SetWriteDeadline(time.Now().Add(wait + writeTime))
		page, err := await(r.Context(), k, q, wait)
		if err != nil {
			return consulted(err)
		}
		return a.events(k, q, page)
	}, r.noBody()
}

// await returns the first events that fit a query. Where there are none, it waits for
// them: no longer than its client does, nor than the server serves.
func await(ctx context.Context, k *ledger.Keeper, q ledger.LogQuery, wait time.Duration) ([]ledger.Event, error) {
	asked := context.WithoutCancel(ctx)
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	for {
		// An event that comes after this is one to wait for, whosever it is.
		info, err := k.Info(asked)
		if err != nil {
			return nil, err
		}
		page, err := k.Log(asked, q)
		if err != nil || len(page) > 0 {
			return page, err
		}
		if k.WaitLog(ctx, info.Events) != nil {
			return nil, nil // the time is over: there are none
		}
	}
}

// events answers with all events from a page on that there are by now. What comes in
// the meantime is for the next request.
func (a *answer) events(k *ledger.Keeper, q ledger.LogQuery, page []ledger.Event) error {
	ctx := context.WithoutCancel(a.request.Context())
	info, err := k.Info(ctx)
	if err != nil {
		return consulted(err)
	}
	a.Header()["Content-Type"] = linesType
	a.WriteHeader(http.StatusOK)
	for len(page) > 0 && q.After < info.Events {
		// Each page has its own time to be taken. Fails where it goes to no connection.
		_ = http.NewResponseController(a.ResponseWriter).SetWriteDeadline(time.Now().Add(writeTime))
		for _, e := range page {
			if _, err := a.Write(append(e.Line, '\n')); err != nil {
				return fmt.Errorf("send the log: %w", err)
			}
		}
		q.After = page[len(page)-1].Number
		if page, err = k.Log(ctx, q); err != nil {
			return err
		}
	}
	return nil
}
