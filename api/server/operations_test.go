package server

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/opmint/opmint/api"
	"github.com/opmint/opmint/ledger"
)

// TestLedgerOverTheSocket: the client in Go answers what the ledger does, about an
// operation from its beginning to its end.
func TestLedgerOverTheSocket(t *testing.T) {
	d := startServer(t, 0)
	client, inside, ctx := &api.Client{Socket: d.socket}, d.source.keeper.As(0), t.Context()
	ref := ledger.Ref{Scope: "pay/ü", Name: "../a b"}
	attempt := ledger.Attempt{Holder: "h", Fingerprint: sha256.Sum256([]byte("x")), Lease: time.Minute, Orphan: ledger.OrphanRetry}
	begun, err := client.Begin(ctx, ref, attempt)
	if err != nil || begun.State != ledger.Running || begun.Replayed || begun.Fence != 1 || begun.Ref != ref {
		t.Fatalf("%+v, %v", begun, err)
	}
	same := func(what string, got ledger.Operation, err error) {
		t.Helper()
		want, inErr := inside.Lookup(ctx, ref)
		if want.Replayed = got.Replayed; err != nil || inErr != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v, want %+v, %v", what, got, err, want, inErr)
		}
	}
	same("begin", begun, nil)
	again, err := client.Begin(ctx, ref, attempt)
	same("begin again", again, err)
	extended, err := client.Extend(ctx, ref, begun.Hold(), time.Hour)
	same("extend", extended, err)
	result := &ledger.Result{Status: 201, Headers: map[string][]string{"X": {"a, b", "ü"}}, Body: []byte("a\x00\xff")}
	for range 2 {
		if _, err := client.Finish(ctx, ref, begun.Hold(), ledger.Applied, result); err != nil {
			t.Error(err)
		}
	}
	replayed, err := client.Begin(ctx, ref, attempt)
	same("replay", replayed, err)
	if !replayed.Replayed || !reflect.DeepEqual(replayed.Result, result) {
		t.Errorf("replayed %+v with %+v", replayed, replayed.Result)
	}
	looked, err := client.Lookup(ctx, ref)
	same("lookup", looked, err)
	page, err := client.List(ctx, ref.Scope, ledger.ListOptions{State: ledger.Applied, Limit: 1})
	if err != nil || len(page.Operations) != 1 || page.Next != ref.Name || page.Operations[0].Result != nil {
		t.Errorf("%+v, %v", page, err)
	}
	if page, err = client.List(ctx, ref.Scope, ledger.ListOptions{After: page.Next}); err != nil || len(page.Operations) != 0 {
		t.Errorf("%+v, %v", page, err)
	}
	scope, err := client.SetHorizon(ctx, ref.Scope, 48*time.Hour)
	if want, inErr := inside.Scope(ctx, ref.Scope); err != nil || inErr != nil || scope != want || scope.Applied != 1 {
		t.Errorf("%+v, %v, want %+v, %v", scope, err, want, inErr)
	}
	if read, err := client.Scope(ctx, ref.Scope); err != nil || read != scope {
		t.Errorf("%+v, %v", read, err)
	}
}

// TestLargeBodies: what is too large to be kept ends an operation all the same.
func TestLargeBodies(t *testing.T) {
	d := startServer(t, 0)
	client, ctx := &api.Client{Socket: d.socket}, t.Context()
	for name, body := range map[string][]byte{
		"text": bytes.Repeat([]byte("x"), ledger.MaxBody), "binary": bytes.Repeat([]byte{0xff}, ledger.MaxBody),
		"controls": make([]byte, ledger.MaxBody), "over": make([]byte, ledger.MaxBody+1), "far over": make([]byte, 5*ledger.MaxBody),
	} {
		ref := ledger.Ref{Scope: "s", Name: name}
		op, err := client.Begin(ctx, ref, ledger.Attempt{Holder: "h"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.Finish(ctx, ref, op.Hold(), ledger.Applied, &ledger.Result{Body: body}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		got, err := client.Lookup(ctx, ref)
		omitted := len(body) > ledger.MaxBody
		if err != nil || got.Result.BodyOmitted != omitted || !omitted && !bytes.Equal(got.Result.Body, body) {
			t.Errorf("%s: omitted %v, %d bytes, %v", name, got.Result.BodyOmitted, len(got.Result.Body), err)
		}
	}
}

// TestAbsorbOverTheSocket: as many names as there can be, twice.
func TestAbsorbOverTheSocket(t *testing.T) {
	d := startServer(t, 0)
	client, ctx := &api.Client{Socket: d.socket}, t.Context()
	items := make([]ledger.Item, ledger.MaxAbsorb)
	for i := range items {
		items[i] = ledger.Item{Name: fmt.Sprintf("%0255d", i), Fingerprint: sha256.Sum256([]byte{byte(i)})}
	}
	for _, want := range []ledger.Verdict{ledger.VerdictFresh, ledger.VerdictSeen} {
		verdicts, err := client.Absorb(ctx, "shared.s", items)
		if err != nil || len(verdicts) != len(items) || verdicts[0] != want || verdicts[len(items)-1] != want {
			t.Fatalf("%d verdicts, %v", len(verdicts), err)
		}
	}
	items[0].Fingerprint[0]++
	verdicts, err := client.Absorb(ctx, "shared.s", items[:1])
	if err != nil || verdicts[0] != ledger.VerdictMismatch {
		t.Errorf("%v, %v", verdicts, err)
	}
	for _, items := range [][]ledger.Item{nil, append(items, items[1]), {{Name: "\xff"}}, {{Name: " a"}}} {
		if _, err := client.Absorb(ctx, "s", items); !errors.Is(err, ledger.ErrInvalid) {
			t.Errorf("%d names: %v", len(items), err)
		}
	}
}

// TestManyCallersOfOneName: 64 at once, half with another payload. One runs, and
// nobody of the other payload.
func TestManyCallersOfOneName(t *testing.T) {
	d := startServer(t, 0)
	client, ctx := &api.Client{Socket: d.socket}, t.Context()
	payloads := [2]ledger.Fingerprint{sha256.Sum256([]byte("X")), sha256.Sum256([]byte("Y"))}
	var running [2]atomic.Int64
	var mismatches [2]atomic.Int64
	var callers sync.WaitGroup
	for i := range 64 {
		callers.Go(func() {
			op, err := client.Begin(ctx, ledger.Ref{Scope: "pay", Name: "n"}, ledger.Attempt{
				Holder: fmt.Sprint(i), Fingerprint: payloads[i%2],
			})
			switch {
			case err == nil && op.State == ledger.Running:
				running[i%2].Add(1)
			case errors.Is(err, ledger.ErrMismatch) && errors.Is(err, api.ErrFingerprintMismatch):
				mismatches[i%2].Add(1)
			case !errors.Is(err, ledger.ErrInProgress):
				t.Errorf("caller %d: %+v, %v", i, op, err)
			}
		})
	}
	callers.Wait()
	x, y := running[0].Load(), running[1].Load()
	if x+y != 1 || mismatches[y].Load() != 0 || mismatches[x].Load() != 32 {
		t.Errorf("%d and %d run, %d and %d mismatches", x, y, mismatches[0].Load(), mismatches[1].Load())
	}
}

// serveAs serves the server of d on another socket, whose callers have that uid.
func (d *daemon) serveAs(uid uint32) *api.Client {
	d.t.Helper()
	at, err := Listen(filepath.Join(d.t.TempDir(), "s"))
	if err != nil {
		d.t.Fatal(err)
	}
	as := func(socket) caller { return caller{uid: uid} }
	d.others.Go(func() {
		if err := d.server.serveAt(d.serving, d.server.newDoor(at, as)); err != nil {
			d.t.Error(err)
		}
	})
	return &api.Client{Socket: at.Addr().String()}
}

// TestOneUserNeverLearnsOfAnothers names: neither that they are there, nor what came of
// them, nor in the log; and cannot take them. Root can see and settle them.
func TestOneUserNeverLearnsOfAnothers(t *testing.T) {
	d := startServer(t, 0)
	alice, bob, ctx := d.serveAs(1000), d.serveAs(1001), t.Context()
	ref := ledger.Ref{Scope: "pay", Name: "secret-name"}
	op, err := alice.Begin(ctx, ref, ledger.Attempt{Holder: "a", Lease: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := bob.Lookup(ctx, ref); !errors.Is(err, ledger.ErrNotFound) {
		t.Errorf("bob sees %v", err)
	}
	if _, err := bob.Settle(ctx, ref, ledger.Failed, nil); !errors.Is(err, ledger.ErrNotFound) {
		t.Errorf("bob settles: %v", err)
	}
	if _, err := bob.Finish(ctx, ref, op.Hold(), ledger.Failed, nil); !errors.Is(err, ledger.ErrNotFound) {
		t.Errorf("bob finishes: %v", err)
	}
	if taken, err := bob.Begin(ctx, ref, ledger.Attempt{Holder: "b"}); err != nil || taken.UID != 1001 {
		t.Errorf("bob's own: %+v, %v", taken, err)
	}
	lines := func(c *api.Client) (all string) {
		t.Helper()
		var v ledger.Verifier
		if err := c.Log(ctx, api.LogRequest{}, func(e ledger.Event) error {
			all += string(e.Line) + "\n"
			return v.Add(e.Line)
		}); err != nil {
			t.Error(err)
		}
		return all
	}
	if seen := lines(bob); strings.Contains(seen, `"uid":1000`) || !strings.Contains(seen, `"uid":1001`) {
		t.Errorf("bob's log:\n%s", seen)
	}
	root := &api.Client{Socket: d.socket}
	if seen := lines(root); !strings.Contains(seen, `"uid":1000`) || !strings.Contains(seen, `"uid":1001`) {
		t.Errorf("root's log:\n%s", seen)
	}
	rootAsAlice := &api.Client{Socket: d.socket, Owner: new(uint32(1000))}
	if seen := lines(rootAsAlice); strings.Contains(seen, `"uid":1001`) || !strings.Contains(seen, `"uid":1000`) {
		t.Errorf("alice's log, by root:\n%s", seen)
	}
	if got, err := rootAsAlice.Lookup(ctx, ref); err != nil || got.UID != 1000 {
		t.Errorf("root sees %+v, %v", got, err)
	}
	d.source.boot.Add(int64(2 * time.Minute))
	if got, err := rootAsAlice.Settle(ctx, ref, ledger.Applied, nil); err != nil || !got.Settled {
		t.Errorf("root settles %+v, %v", got, err)
	}
	bob.Owner = new(uint32(1000))
	if _, err := bob.Lookup(ctx, ref); !errors.Is(err, api.ErrForbidden) {
		t.Errorf("bob as alice: %v", err)
	}
}
