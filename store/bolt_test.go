package store_test

import (
	"path/filepath"
	"testing"

	"github.com/opmint/opmint/store"
	"github.com/opmint/opmint/store/storetest"
)

// TestBolt runs the suite on a store without a log, on one with a log, and on one that
// writes what its log has at every commit but a few.
func TestBolt(t *testing.T) {
	for name, kind := range map[string]store.Kind{
		"journal": store.Journal, "ledger": store.Ledger, "ledger with a short log": store.Ledger,
	} {
		t.Run(name, func(t *testing.T) {
			storetest.Run(t, func(t *testing.T) storetest.Place {
				path := filepath.Join(t.TempDir(), "store.db")
				return func() (store.Store, error) {
					s, err := store.Open(t.Context(), path, store.Options{Kind: kind})
					if err == nil && name == "ledger with a short log" {
						s.SetMaxLogged(10)
					}
					return s, err
				}
			})
		})
	}
}
