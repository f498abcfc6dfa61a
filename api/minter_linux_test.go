package api_test

import (
	"errors"
	"os"
	"runtime"
	"sync"
	"testing"

	"github.com/opmint/opmint/api"
	"github.com/opmint/opmint/keygen"
)

// TestMinter: names of many goroutines are the daemon's, and all distinct.
func TestMinter(t *testing.T) {
	c, _, _ := start(t, socketIn(t), uint32(os.Geteuid()))
	m := c.Minter()
	defer m.Close()
	const each = 20_000
	results := make([][]byte, 8)
	var done sync.WaitGroup
	for i := range results {
		done.Go(func() {
			var err error
			for range each {
				if results[i], err = m.AppendName(t.Context(), results[i]); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	done.Wait()
	seen := make(map[keygen.Name]bool, len(results)*each)
	for _, all := range results {
		for ; len(all) > 0; all = all[keygen.Length:] {
			name, err := keygen.Parse(string(all[:keygen.Length]))
			if err != nil || seen[name] || name.Identity() != testIdentity || name.Class() != keygen.ClassH {
				t.Fatalf("%s, %v, seen before: %v", all[:keygen.Length], err, seen[name])
			}
			seen[name] = true
		}
	}
	if len(seen) != len(results)*each {
		t.Errorf("%d names", len(seen))
	}
}

// TestMinterWithoutADaemon: there are no names while no daemon is there, those of
// the one that stopped least of all, and none comes twice.
func TestMinterWithoutADaemon(t *testing.T) {
	socket := socketIn(t)
	m := (&api.Client{Socket: socket}).Minter()
	defer m.Close()
	if _, err := m.Name(t.Context()); !errors.Is(err, api.ErrNoDaemon) {
		t.Fatalf("before the first: %v", err)
	}
	seen := map[keygen.Name]bool{}
	mint := func() (keygen.Name, error) {
		name, err := m.Name(t.Context())
		if seen[name] {
			t.Fatalf("%s comes again", name)
		}
		if err == nil {
			seen[name] = true
		}
		return name, err
	}
	for range 3 {
		_, _, stop := start(t, socket, 0)
		if _, err := mint(); err != nil {
			t.Fatal(err)
		}
		stop()
		// That the connection is closed shows as soon as its reader runs.
		_, err := mint()
		for err == nil && t.Context().Err() == nil {
			runtime.Gosched()
			_, err = mint()
		}
		if !errors.Is(err, api.ErrNoDaemon) {
			t.Fatalf("after a daemon stopped: %v", err)
		}
	}
}
