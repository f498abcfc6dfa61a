package main

import (
	"context"
	"errors"

	"github.com/google/uuid"
	"github.com/oklog/ulid/v2"

	"github.com/opmint/opmint/keygen"
)

// sink keeps the compiler from leaving out what is measured.
var sink struct {
	text string
	name keygen.Name
}

// namesTable compares making and reading names with making other unique keys.
func namesTable(ctx context.Context) (*table, error) {
	minter, err := keygen.NewMinter(ctx, keygen.MinterConfig{
		Class:    keygen.ClassJ,
		Identity: keygen.NewIdentity([32]byte{}, [32]byte{}, [16]byte{1}),
		Counter:  new(counter),
	})
	if err != nil {
		return nil, err
	}
	lease, err := minter.Lease(ctx, 1<<36)
	if err != nil {
		return nil, err
	}
	ours := append(leaseSubjects(lease), minterSubject(ctx, minter))
	subjects := append(others(), ours...)
	return &table{id: "names", subjects: append(subjects, readSubjects(lease)...)}, nil
}

// counter is a keygen.Counter for one process. One epoch has more names than are
// ever measured.
type counter struct{ claimed bool }

func (c *counter) Next(context.Context) (uint64, error) {
	if c.claimed {
		return 0, errors.New("a second epoch, which no measurement needs")
	}
	c.claimed = true
	return 1, nil
}

func others() []*subject {
	return []*subject{
		{name: "google/uuid NewString", note: "version 4", run: func(n int) error {
			for range n {
				sink.text = uuid.NewString()
			}
			return nil
		}},
		{name: "google/uuid NewV7", note: "as a string", run: func(n int) error {
			for range n {
				id, err := uuid.NewV7()
				if err != nil {
					return err
				}
				sink.text = id.String()
			}
			return nil
		}},
		{name: "oklog/ulid Make", note: "as a string", run: func(n int) error {
			for range n {
				sink.text = ulid.Make().String()
			}
			return nil
		}},
	}
}

// leaseSubjects mint from one lease, as a daemon's answer or a client does.
func leaseSubjects(lease *keygen.Lease) []*subject {
	return []*subject{
		{name: "Lease.AppendName", note: "into a buffer", maxRatio: 0.25, noAllocs: true, run: func(n int) error {
			buf := make([]byte, 0, keygen.Length)
			for i := range n {
				var err error
				if buf, err = lease.AppendName(buf[:0], uint64(i)); err != nil {
					return err
				}
			}
			sink.text = string(buf)
			return nil
		}},
		{name: "Lease.Name and Name.String", note: "a name as a string", maxRatio: 0.7, run: func(n int) error {
			for i := range n {
				name, err := lease.Name(uint64(i))
				if err != nil {
					return err
				}
				sink.text = name.String()
			}
			return nil
		}},
	}
}

// minterSubject mints each name under a lease and a random key of its own.
func minterSubject(ctx context.Context, minter *keygen.Minter) *subject {
	return &subject{name: "Minter.Lease of one name", note: "and the name", run: func(n int) error {
		for range n {
			lease, err := minter.Lease(ctx, 1)
			if err != nil {
				return err
			}
			if sink.name, err = lease.Name(0); err != nil {
				return err
			}
		}
		return nil
	}}
}

// readSubjects use names that are there.
func readSubjects(lease *keygen.Lease) []*subject {
	return []*subject{
		{name: "Name.String", maxRatio: 0.7, run: func(n int) error {
			name, err := lease.Name(0)
			if err != nil {
				return err
			}
			for range n {
				sink.text = name.String()
			}
			return nil
		}},
		{name: "Parse", run: func(n int) error {
			name, err := lease.Name(0)
			if err != nil {
				return err
			}
			text := name.String()
			for range n {
				if sink.name, err = keygen.Parse(text); err != nil {
					return err
				}
			}
			return nil
		}},
	}
}
