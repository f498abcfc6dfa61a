package main

import (
	"context"
	"sync"

	"github.com/opmint/opmint/store"
)

// gatherer is a store that commits the writes of many Commits together, and so not
// durably at once: to fill a journal in minutes and not in hours. It has one writer,
// and so no checks.
type gatherer struct {
	store.Store

	mu      sync.Mutex
	pending map[string][]byte
	size    int // bytes
}

// Bounds of what is gathered.
const (
	gatherWrites = store.MaxOps / 2
	gatherBytes  = store.MaxCommit / 2
)

// Get implements store.Store.
func (g *gatherer) Get(ctx context.Context, key []byte) ([]byte, error) {
	g.mu.Lock()
	value, ok := g.pending[string(key)]
	g.mu.Unlock()
	if ok {
		return value, nil
	}
	return g.Store.Get(ctx, key)
}

// Commit implements store.Store.
func (g *gatherer) Commit(ctx context.Context, _ []store.Check, writes []store.Write) error {
	g.mu.Lock()
	for _, w := range writes {
		g.pending[string(w.Key)] = w.Value
		g.size += len(w.Key) + len(w.Value)
	}
	full := len(g.pending) > gatherWrites || g.size > gatherBytes
	g.mu.Unlock()
	if !full {
		return nil
	}
	return g.flush(ctx)
}

// flush commits what was gathered.
func (g *gatherer) flush(ctx context.Context) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	var writes []store.Write
	for key, value := range g.pending {
		writes = append(writes, store.Write{Key: []byte(key), Value: value})
	}
	clear(g.pending)
	g.size = 0
	if len(writes) == 0 {
		return nil
	}
	return g.Store.Commit(ctx, nil, writes)
}
