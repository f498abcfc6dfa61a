package soak_test

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"
	"testing"

	"github.com/opmint/opmint/api"
	"github.com/opmint/opmint/keygen"
)

var intents = flag.Int("intents", 100, "how many `intents` each of 64 clients names")

const (
	namers      = 64
	daemonHeap  = 64 << 10 // KiB of memory that the daemon may have, beside the file that it maps
	sharedEvery = 4        // of these intents one is everybody's
)

// TestIntents: 64 clients with many intents each, some of them everybody's. Each
// gets its one name, nobody waits for ever, and the daemon stays small.
func TestIntents(t *testing.T) {
	dir := t.TempDir()
	if out, err := exec.Command("go", "build", "-o", dir, "../cmd/opmintd").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	socket := filepath.Join(dir, "s")
	w := newWorld(t, "--socket", socket, "--state", filepath.Join(dir, "state"))
	defer w.end()

	var mu sync.Mutex
	named, fresh := map[string]keygen.Name{}, 0
	note := func(got *api.Intent) {
		mu.Lock()
		defer mu.Unlock()
		if before, ok := named[got.Intent]; ok && before != got.Name {
			t.Errorf("intent %s is named %s and %s", got.Intent, before, got.Name)
		}
		if named[got.Intent] = got.Name; !got.Replayed {
			fresh++
		}
	}
	var clients sync.WaitGroup
	for of := range namers {
		clients.Go(func() {
			client := api.Client{Socket: socket}
			for i := range *intents {
				intent := fmt.Sprintf("%d of %d", i, of)
				if i%sharedEvery == 0 {
					intent = fmt.Sprintf("%d of all", i)
				}
				got, err := client.NameIntent(t.Context(), intent, api.IntentRequest{})
				if err != nil {
					t.Error(err)
					return
				}
				note(got)
			}
		})
	}
	clients.Wait()
	if fresh != len(named) {
		t.Errorf("%d intents were new %d times", len(named), fresh)
	}
	of := make(map[keygen.Name]string, len(named))
	for intent, name := range named {
		if other, ok := of[name]; ok {
			t.Errorf("intents %s and %s have one name", intent, other)
		}
		of[name] = intent
	}
	if got := w.memory(); got > daemonHeap {
		t.Errorf("the daemon has %d KiB of memory after %d intents, want at most %d", got, len(named), daemonHeap)
	}
}

var anonymous = regexp.MustCompile(`\nRssAnon:\s*([0-9]+) kB\n`)

// memory returns how much memory the daemon has that is no file's, in KiB
// (proc_pid_status(5)).
func (w *world) memory() (kib int) {
	w.t.Helper()
	w.await(func() bool { return w.daemon != nil })
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", w.daemon.Process.Pid))
	if err != nil {
		w.t.Fatal(err)
	}
	if kib, err = strconv.Atoi(string(anonymous.FindSubmatch(status)[1])); err != nil {
		w.t.Fatal(err)
	}
	return kib
}
