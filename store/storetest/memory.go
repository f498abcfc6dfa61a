package storetest

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/opmint/opmint/store"
)

// Memory is a store.Store in memory. As with a file there are two states of
// it: what was written, which the next process finds, and what was synced,
// which is left after a power cut.
type Memory struct {
	mu      sync.Mutex
	written map[string]string
	order   []string // the keys of written, sorted
	synced  map[string]string
	commits int           // that came to writing
	faults  map[int]Fault // by what commits will be then
	err     error         // why nothing is answered any more
}

// NewMemory returns an empty store.
func NewMemory() *Memory { return holding(map[string]string{}) }

// holding returns a store that begins with these records.
func holding(records map[string]string) *Memory {
	return &Memory{
		written: maps.Clone(records), order: slices.Sorted(maps.Keys(records)),
		synced: maps.Clone(records), faults: map[int]Fault{},
	}
}

// Fail lets the n-th of the Commits to come fail, n from 1. Only those count
// that come to writing: with writes, and checks that hold.
func (m *Memory) Fail(n int, f Fault) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.faults[m.commits+n] = f
}

// Commits returns how many Commits came to writing, failed ones included.
func (m *Memory) Commits() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.commits
}

// Restart kills the process: it closes m and returns what the next one opens.
func (m *Memory) Restart() *Memory {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.err = store.ErrClosed
	return holding(m.written)
}

// Crash cuts the power: it closes m and returns what is opened afterwards.
func (m *Memory) Crash() *Memory {
	next := m.Clone()
	m.Close()
	return next
}

// Clone returns what Crash would, and leaves m as it is: for clones of a
// machine, and for states to roll back to.
func (m *Memory) Clone() *Memory {
	m.mu.Lock()
	defer m.mu.Unlock()
	return holding(m.synced)
}

// Close implements store.Store.
func (m *Memory) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.err = store.ErrClosed
	return nil
}

// ready says whether a call is answered. It needs mu.
func (m *Memory) ready(ctx context.Context, invalid error) error {
	return cmp.Or(invalid, ctx.Err(), m.err)
}

// Get implements store.Store.
func (m *Memory) Get(ctx context.Context, key []byte) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.ready(ctx, store.ValidKey(key)); err != nil {
		return nil, fmt.Errorf("get: %w", err)
	}
	return []byte(m.written[string(key)]), nil
}

// Scan implements store.Store.
func (m *Memory) Scan(ctx context.Context, prefix, after []byte, limit int) ([]store.Record, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.ready(ctx, store.ValidScan(prefix, after, limit)); err != nil {
		return nil, fmt.Errorf("scan: %w", err)
	}
	var records []store.Record
	size := 0
	first, found := slices.BinarySearch(m.order, max(string(prefix), string(after)))
	if found && m.order[first] == string(after) {
		first++
	}
	for _, key := range m.order[first:] {
		if !strings.HasPrefix(key, string(prefix)) || len(records) == limit || size > store.MaxValue {
			break
		}
		records = append(records, store.Record{Key: []byte(key), Value: []byte(m.written[key])})
		size += len(m.written[key])
	}
	return records, nil
}

// Commit implements store.Store.
func (m *Memory) Commit(ctx context.Context, checks []store.Check, writes []store.Write) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, invalid := store.ValidCommit(checks, writes)
	if err := m.ready(ctx, invalid); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	for i, c := range checks {
		if m.written[string(c.Key)] != string(c.Value) {
			return fmt.Errorf("commit: %w", &store.ConflictError{Check: i})
		}
	}
	if len(writes) == 0 {
		return nil
	}
	m.commits++
	fault := m.faults[m.commits]
	if fault == 0 || fault == FailSync || fault == KeepButReportLost {
		apply(m.written, writes)
		m.sort(writes)
	}
	if fault == 0 || fault == KeepButReportLost {
		apply(m.synced, writes)
	}
	switch fault {
	case 0:
		return nil
	case Refuse:
		return fmt.Errorf("commit: %w: %s", ErrFault, fault)
	}
	m.err = fmt.Errorf("%w: %w: %s", store.ErrStopped, ErrFault, fault)
	return fmt.Errorf("commit: %w: %w: %s", store.ErrOutcomeUnknown, ErrFault, fault)
}

func apply(records map[string]string, writes []store.Write) {
	for _, w := range writes {
		records[string(w.Key)] = string(w.Value)
		if len(w.Value) == 0 {
			delete(records, string(w.Key))
		}
	}
}

// sort makes order that of the keys after writes.
func (m *Memory) sort(writes []store.Write) {
	for _, w := range writes {
		key := string(w.Key)
		at, found := slices.BinarySearch(m.order, key)
		_, there := m.written[key]
		switch {
		case there && !found:
			m.order = slices.Insert(m.order, at, key)
		case found && !there:
			m.order = slices.Delete(m.order, at, at+1)
		}
	}
}
