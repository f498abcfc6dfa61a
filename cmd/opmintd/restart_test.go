package main

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/opmint/opmint/api"
	"github.com/opmint/opmint/keygen"
)

// TestRestartUnderLoad starts a daemon again and again while clients mint. A client
// that asks once more when it got no answer loses nothing.
func TestRestartUnderLoad(t *testing.T) {
	const clients, restarts = 8, 5
	m := newManager(t)
	minted := newRecord(t)
	p := m.start()
	var over atomic.Bool
	var lives [restarts + 1]chan struct{} // closed when a client has a name of that one
	for i := range lives {
		lives[i] = make(chan struct{})
	}
	var wait sync.WaitGroup
	for range clients {
		wait.Go(func() {
			client := api.Client{Socket: m.path}
			for !over.Load() {
				names, err := client.Mint(t.Context(), api.MintRequest{})
				if err != nil {
					names, err = client.Mint(t.Context(), api.MintRequest{})
				}
				if err != nil {
					t.Errorf("asked twice: %v", err)
					return
				}
				parsed, err := parse(names.Names)
				if err != nil {
					t.Error(err)
					return
				}
				minted.add(parsed...)
				minted.life(parsed[0], lives[:])
			}
		})
	}
	<-lives[0]
	for i := range restarts {
		p.stop()
		p = m.start()
		<-lives[i+1]
	}
	over.Store(true)
	wait.Wait()
	p.stop()
}

// life closes the channel of the daemon that minted a name: each has an epoch of its
// own.
func (r *record) life(n keygen.Name, lives []chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	select {
	case <-lives[n.Epoch()-1]:
	default:
		close(lives[n.Epoch()-1])
	}
}
