package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
)

// Targets of intents: the rate of new ones against that of rows in PostgreSQL with
// so many clients, and the rate of known ones against that of names.
var newIntentTargets = map[int]float64{1: 0.4, 16: 0.5, 64: 0.75}

const knownIntentTarget = 0.6

const intentsNote = "PostgreSQL has its default settings and is asked over its Unix socket: " +
	"`INSERT … ON CONFLICT DO NOTHING RETURNING`, prepared. Both have each answer on the disk before they give it. " +
	"The daemon's TPM is swtpm.\n\n"

// insertIntent is what gives an intent a name in PostgreSQL.
const insertIntent = "INSERT INTO intents (uid, intent, name, created) VALUES ($1, $2, $3, $4) " +
	"ON CONFLICT DO NOTHING RETURNING name"

// intentsTable compares intents with rows in PostgreSQL and with names. The
// returned function stops all servers.
func intentsTable(ctx context.Context) (t *table, stop func(), err error) {
	dir, err := os.MkdirTemp("", "bench")
	if err != nil {
		return nil, nil, err
	}
	var s *servers
	var db *postgres
	stop = func() {
		if db != nil {
			db.stop()
		}
		if s != nil {
			s.stop()
		}
		os.RemoveAll(dir)
	}
	if err = buildPrograms(ctx, dir); err == nil {
		s, err = startServers(ctx, dir)
	}
	if err == nil {
		db, err = startPostgres(ctx, dir)
	}
	t = &table{id: "intents", note: intentsNote}
	if err == nil {
		err = t.compareIntents(ctx, s.opmintd, db)
	}
	if err != nil {
		stop()
		return nil, nil, err
	}
	return t, stop, nil
}

func (t *table) compareIntents(ctx context.Context, socket string, db *postgres) error {
	var fresh atomic.Uint64 // no intent is new twice
	for _, clients := range []int{1, 16, 64} {
		note := countClients(clients)
		rows, err := db.rows(ctx, clients, &fresh)
		if err != nil {
			return err
		}
		ours := newIntents(socket, clients, "new", func() uint64 { return fresh.Add(1) })
		t.against(t.add(&subject{name: "new intents", note: note, run: ours.run}),
			t.add(&subject{name: "rows in PostgreSQL", note: note, run: rows.run}), newIntentTargets[clients])
	}
	if err := newIntents(socket, 64, "order", anyOf(knownIntents)).run(knownIntents); err != nil {
		return err
	}
	for _, clients := range []int{1, 16, 64} {
		note := countClients(clients)
		known := newIntents(socket, clients, "order", anyOf(knownIntents))
		t.against(t.add(&subject{name: "known intents", note: note, run: known.run}),
			t.add(&subject{name: "mint, kept connection", note: note, run: newLoad(socket, clients, true, mintOne).run}),
			knownIntentTarget)
	}
	return nil
}

// knownIntents is how many intents are asked for again and again.
const knownIntents = 1000

// anyOf returns numbers below n, each once in n calls, in no order that helps.
func anyOf(n uint64) func() uint64 {
	var next atomic.Uint64
	const prime = 1_000_003
	return func() uint64 { return next.Add(1) * prime % n }
}

func countClients(n int) string {
	if n == 1 {
		return "1 client"
	}
	return fmt.Sprintf("%d clients", n)
}

// newIntents is a load of clients that ask for intents of a kind, by number.
func newIntents(socket string, clients int, kind string, next func() uint64) *load {
	l := newLoad(socket, clients, true, protocol{read: readHTTP})
	l.make = func(b []byte) []byte {
		return fmt.Appendf(b, "PUT /v1/intents/%s-%010d HTTP/1.1\r\nHost: opmint\r\n\r\n", kind, next())
	}
	return l
}

// rows are clients of PostgreSQL, each with a connection, that insert rows.
type rows struct {
	ctx   context.Context
	conns []*pgx.Conn
	next  *atomic.Uint64
}

// rows connects clients, and makes the table if it is not there.
func (p *postgres) rows(ctx context.Context, clients int, next *atomic.Uint64) (*rows, error) {
	r := &rows{ctx: ctx, next: next}
	for range clients {
		c, err := p.connect(ctx)
		if err != nil {
			return nil, err
		}
		r.conns = append(r.conns, c)
	}
	_, err := r.conns[0].Exec(ctx, "CREATE TABLE IF NOT EXISTS intents "+
		"(uid bigint, intent text, name text NOT NULL, created timestamptz NOT NULL, PRIMARY KEY (uid, intent))")
	return r, err
}

// run inserts n rows, which the clients share.
func (r *rows) run(n int) error {
	errs := make([]error, len(r.conns))
	var all sync.WaitGroup
	for i, c := range r.conns {
		share := (n + i) / len(r.conns)
		all.Go(func() {
			for range share {
				var name string
				row := c.QueryRow(r.ctx, insertIntent, os.Getuid(), fmt.Sprintf("order-%010d", r.next.Add(1)), rowName, time.Now())
				if errs[i] = row.Scan(&name); errs[i] != nil {
					return
				}
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

const rowName = "h1-emhwdgg60rf5x9vn4a-00000001-00000000-r4trds3k1d7z9ygzca"
