package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/jackc/pgx/v5"
)

// dialogue is a load of clients whose every turn is several requests about a new name,
// one after the other.
type dialogue struct {
	*load
	fresh func() string
	steps []func(b []byte, name string) []byte // each appends a request
}

func newDialogue(
	socket string, clients int, fresh func() string,
	read func(io.Reader, []byte) error, steps ...func(b []byte, name string) []byte,
) *dialogue {
	return &dialogue{newLoad(socket, clients, true, protocol{read: read}), fresh, steps}
}

// run takes n turns, which the clients share.
func (d *dialogue) run(n int) error {
	return share(n, len(d.clients), func(i int) error {
		name := d.fresh()
		for _, step := range d.steps {
			if err := d.send(&d.clients[i], step(d.clients[i].buf[:0], name)); err != nil {
				return err
			}
		}
		return nil
	})
}

// operationRows are clients of PostgreSQL, each with a connection, that insert a row
// and update it.
type operationRows struct {
	ctx   context.Context
	conns []*pgx.Conn
	fresh func() string
}

// What begins and finishes an operation in PostgreSQL.
const (
	insertOperation = "INSERT INTO operations (uid, scope, name, state, holder, fingerprint, began) " +
		"VALUES ($1, 'bench', $2, 'running', 'bench', $3, $4) ON CONFLICT DO NOTHING RETURNING name"
	updateOperation = "UPDATE operations SET state = 'applied', result = $3, ended = $4 " +
		"WHERE uid = $1 AND scope = 'bench' AND name = $2 AND holder = 'bench'"
)

// operations connects clients, and makes the table if it is not there.
func (p *postgres) operations(ctx context.Context, clients int, fresh func() string) (*operationRows, error) {
	r := &operationRows{ctx: ctx, fresh: fresh}
	for range clients {
		c, err := p.connect(ctx)
		if err != nil {
			return nil, err
		}
		r.conns = append(r.conns, c)
	}
	_, err := r.conns[0].Exec(ctx, "CREATE TABLE IF NOT EXISTS operations (uid bigint, scope text, name text, "+
		"state text NOT NULL, holder text NOT NULL, fingerprint text, began timestamptz NOT NULL, ended timestamptz, "+
		"result bytea, PRIMARY KEY (uid, scope, name))")
	return r, err
}

// run begins and finishes n operations, which the clients share.
func (r *operationRows) run(n int) error {
	uid := os.Getuid()
	return share(n, len(r.conns), func(i int) error {
		name := r.fresh()
		var begun string
		row := r.conns[i].QueryRow(r.ctx, insertOperation, uid, name, benchFingerprint, time.Now())
		if err := row.Scan(&begun); err != nil {
			return err
		}
		tag, err := r.conns[i].Exec(r.ctx, updateOperation, uid, name, []byte("ok"), time.Now())
		if err == nil && tag.RowsAffected() != 1 {
			err = fmt.Errorf("finish %s: %s", name, tag)
		}
		return err
	})
}
