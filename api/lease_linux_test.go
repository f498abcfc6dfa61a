package api_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/opmint/opmint/api"
	"github.com/opmint/opmint/keygen"
)

func TestClientLeases(t *testing.T) {
	c, _, _ := start(t, filepath.Join(t.TempDir(), "s"), uint32(os.Geteuid()))
	got, err := c.Lease(t.Context(), 5)
	if err != nil {
		t.Fatal(err)
	}
	if terms := got.Terms(); terms.Class != keygen.ClassH || terms.Identity != testIdentity || terms.Epoch != 1 ||
		terms.First != 0 || terms.Count != 5 || terms.Key == (keygen.Key{}) {
		t.Errorf("%+v", terms)
	}
	if _, err := keygen.NewLease(got.Terms()); err != nil {
		t.Error(err)
	}
	for _, count := range []uint64{0, api.MaxLease + 1} {
		if _, err := c.Lease(t.Context(), count); !errors.Is(err, api.ErrBadRequest) {
			t.Errorf("%d names: %v", count, err)
		}
	}
	if next, err := c.Lease(t.Context(), 1); err != nil || next.First != 5 {
		t.Errorf("%+v, %v", next, err)
	}
}
