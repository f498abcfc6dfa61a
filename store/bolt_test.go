package store_test

import (
	"path/filepath"
	"testing"

	"github.com/opmint/opmint/store"
	"github.com/opmint/opmint/store/storetest"
)

func TestBolt(t *testing.T) {
	storetest.Run(t, func(t *testing.T) storetest.Place {
		path := filepath.Join(t.TempDir(), "ledger.db")
		return func() (store.Store, error) {
			return store.Open(t.Context(), path, store.Options{Kind: store.Ledger})
		}
	})
}
