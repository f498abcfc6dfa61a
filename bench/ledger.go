package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/opmint/opmint/keygen"
	"github.com/opmint/opmint/ledger"
	"github.com/opmint/opmint/store"
)

// Targets of the ledger: operations a second, begun and finished, against two
// statements of PostgreSQL with so many clients, through the daemon and in-process;
// replays against names; names absorbed many at a time against one by one.
var (
	operationTargets = map[int]float64{1: 0.4, 16: 0.5, 64: 0.75}
	inProcessTargets = map[int]float64{1: 0.7, 16: 0.8, 64: 1.2}
)

const (
	replayTarget = 0.6
	absorbTarget = 20
)

const ledgerNote = "An operation is begun and finished. PostgreSQL has its default settings: `INSERT … ON CONFLICT DO NOTHING " +
	"RETURNING`, then `UPDATE`, prepared. Redis has `appendfsync always`: `SET NX`, then `SET`. Both are asked over their Unix " +
	"sockets, and all have each answer on the disk before they give it. The daemon's TPM is swtpm.\n\n"

// ledgerTable compares the ledger with rows in PostgreSQL, keys in Redis, and names. The
// returned function stops all servers.
func ledgerTable(ctx context.Context) (t *table, stop func(), err error) {
	dir, err := os.MkdirTemp("", "bench")
	if err != nil {
		return nil, nil, err
	}
	var r rivals
	stop = func() { r.stop(); os.RemoveAll(dir) }
	t = &table{id: "ledger", note: ledgerNote}
	if err = r.start(ctx, dir); err == nil {
		err = t.compareLedger(ctx, &r)
	}
	if err != nil {
		stop()
		return nil, nil, err
	}
	return t, stop, nil
}

// rivals are what the ledger is compared with, and the ledger.
type rivals struct {
	servers *servers
	db      *postgres
	redis   string // its socket
	store   *store.Bolt
	keeper  *ledger.Keeper
	fresh   func() string // names
}

func (r *rivals) start(ctx context.Context, dir string) (err error) {
	if err := buildPrograms(ctx, dir); err != nil {
		return err
	}
	if r.servers, err = startServers(ctx, dir); err != nil {
		return err
	}
	if r.db, err = startPostgres(ctx, dir); err != nil {
		return err
	}
	if r.redis, err = r.servers.startRedis(ctx, dir); err != nil {
		return err
	}
	if r.store, err = store.Open(ctx, filepath.Join(dir, "inside", "ledger"), store.Options{Kind: store.Ledger}); err != nil {
		return err
	}
	if r.keeper, err = ledger.Open(ctx, r.store, ledger.Config{}); err != nil {
		return err
	}
	r.fresh, err = freshNames(ctx)
	return err
}

func (r *rivals) stop() {
	if r.keeper != nil {
		_ = r.keeper.Close(context.Background()) // nobody needs it any more
	}
	if r.store != nil {
		r.store.Close()
	}
	if r.db != nil {
		r.db.stop()
	}
	if r.servers != nil {
		r.servers.stop()
	}
}

func (t *table) compareLedger(ctx context.Context, r *rivals) error {
	for _, clients := range []int{1, 16, 64} {
		note := countClients(clients)
		rows, err := r.db.operations(ctx, clients, r.fresh)
		if err != nil {
			return err
		}
		daemon := t.add(&subject{name: "operations, daemon", note: note, run: operations(r.servers.opmintd, clients, r.fresh).run})
		inside := t.add(&subject{name: "operations, in-process", note: note, run: inProcess(ctx, r.keeper, "bench", clients, r.fresh)})
		in := t.add(&subject{name: "rows in PostgreSQL", note: note, run: rows.run})
		t.against(daemon, in, operationTargets[clients])
		t.against(inside, in, inProcessTargets[clients])
		t.against(daemon, t.add(&subject{name: "keys in Redis", note: note, run: keys(r.redis, clients, r.fresh).run}), 0)
	}
	known := r.fresh()
	if err := operations(r.servers.opmintd, 1, func() string { return known }).run(1); err != nil {
		return err
	}
	for _, clients := range []int{1, 16} {
		note := countClients(clients)
		replays := newLoad(r.servers.opmintd, clients, true, protocol{begin(nil, known), readHTTP})
		mints := newLoad(r.servers.opmintd, clients, true, mintOne)
		t.against(t.add(&subject{name: "replays", note: note, run: replays.run}),
			t.add(&subject{name: "mint, kept connection", note: note, run: mints.run}), replayTarget)
	}
	t.against(t.add(&subject{name: "names absorbed, 10,000 at a time", run: r.absorb(ledger.MaxAbsorb), each: ledger.MaxAbsorb}),
		t.add(&subject{name: "names absorbed, one by one", run: r.absorb(1)}), absorbTarget)
	return nil
}

// freshNames returns what returns names that are new, as a daemon mints them.
func freshNames(ctx context.Context) (func() string, error) {
	m, err := keygen.NewMinter(ctx, keygen.MinterConfig{
		Class: keygen.ClassJ, Identity: keygen.NewIdentity([32]byte{}, [32]byte{}, [16]byte{1}), Counter: new(counter),
	})
	if err != nil {
		return nil, err
	}
	lease, err := m.Lease(ctx, 1<<30)
	if err != nil {
		return nil, err
	}
	var next atomic.Uint64
	return func() string {
		name, _ := lease.AppendName(nil, next.Add(1)-1) // there are more than anybody needs
		return string(name)
	}, nil
}

// post appends a request that has a body.
func post(b []byte, method, path, body string) []byte {
	return fmt.Appendf(b, "%s %s HTTP/1.1\r\nHost: opmint\r\nContent-Length: %d\r\n\r\n%s", method, path, len(body), body)
}

const benchFingerprint = "sha256:0102030405060708091011121314151617181920212223242526272829303132"

func begin(b []byte, name string) []byte {
	return post(b, "PUT", "/v1/operations/bench/"+name, `{"holder":"bench","fingerprint":"`+benchFingerprint+`"}`)
}

func finish(b []byte, name string) []byte {
	return post(b, "POST", "/v1/operations/bench/"+name+"/finish",
		`{"holder":"bench","fence":1,"outcome":"applied","result":{"status":201,"body":"ok"}}`)
}

// operations are clients of the daemon that begin and finish operations.
func operations(socket string, clients int, fresh func() string) *dialogue {
	return newDialogue(socket, clients, fresh, readHTTP, begin, finish)
}

// absorb returns what absorbs fresh names, so many at a time.
func (r *rivals) absorb(many int) func(int) error {
	l := newLoad(r.servers.opmintd, 1, true, protocol{read: readHTTP})
	l.make = func(b []byte) []byte {
		var body []byte
		for range many {
			body = fmt.Appendf(body, `,{"name":"%s"}`, r.fresh())
		}
		return post(b, "POST", "/v1/operations/absorb", `{"names":[`+string(body[1:])+`]}`)
	}
	return l.run
}

// inProcess returns what begins and finishes operations of a scope without a daemon.
func inProcess(ctx context.Context, k *ledger.Keeper, scope string, callers int, fresh func() string) func(int) error {
	l := k.As(1000)
	sum, err := ledger.ParseFingerprint(benchFingerprint)
	result := &ledger.Result{Status: 201, Body: []byte("ok")}
	return func(n int) error {
		return errors.Join(err, share(n, callers, func(int) error {
			op, err := l.Begin(ctx, ledger.Ref{Scope: scope, Name: fresh()}, ledger.Attempt{Holder: "bench", Fingerprint: sum})
			if err != nil {
				return err
			}
			_, err = l.Finish(ctx, op.Ref, op.Hold(), ledger.Applied, result)
			return err
		}))
	}
}

// share has n things done by so many at once; do is told which of them does it.
func share(n, workers int, do func(worker int) error) error {
	errs := make([]error, workers)
	var all sync.WaitGroup
	for i := range workers {
		all.Go(func() {
			for range (n + i) / workers {
				if errs[i] = do(i); errs[i] != nil {
					return
				}
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}
