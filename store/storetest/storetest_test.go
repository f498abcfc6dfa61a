package storetest_test

import (
	"testing"

	"github.com/opmint/opmint/store"
	"github.com/opmint/opmint/store/storetest"
)

func TestMemory(t *testing.T) {
	storetest.Run(t, func(*testing.T) storetest.Place {
		m := storetest.NewMemory()
		return func() (store.Store, error) {
			m = m.Restart()
			return m, nil
		}
	})
}
