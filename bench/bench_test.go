package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == echoCommand {
		fmt.Fprintln(os.Stderr, serveEcho(os.Args[2]))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// TestRun measures everything, hardly, against the real servers.
func TestRun(t *testing.T) {
	file := filepath.Join(t.TempDir(), "README.md")
	page := "before\n<!-- bench:names -->\nold\n<!-- /bench:names -->\nbetween\n" +
		"<!-- bench:intents -->\n<!-- /bench:intents -->\n<!-- bench:ledger -->\n<!-- /bench:ledger -->\n" +
		"<!-- bench:daemon -->\n<!-- /bench:daemon -->\n<!-- bench:crowd -->\n<!-- /bench:crowd -->\nafter\n"
	if err := os.WriteFile(file, []byte(page), 0o600); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := run(t.Context(), options{file: file, rounds: 2, length: time.Microsecond}, &out); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	names, rest, _ := strings.Cut(out.String(), "\n\n| what | a second")
	intents, rest, _ := strings.Cut(rest, "\n\n| what | a second")
	ledger, rest, _ := strings.Cut(rest, "\n\n| what | a second")
	daemon, crowd, _ := strings.Cut(rest, "\n\n| crowd of")
	want := "before\n<!-- bench:names -->\n\n" + names + "\n\n<!-- /bench:names -->\nbetween\n" +
		"<!-- bench:intents -->\n\n| what | a second" + intents + "\n\n<!-- /bench:intents -->\n" +
		"<!-- bench:ledger -->\n\n| what | a second" + ledger + "\n\n<!-- /bench:ledger -->\n" +
		"<!-- bench:daemon -->\n\n| what | a second" + daemon + "\n\n<!-- /bench:daemon -->\n" +
		"<!-- bench:crowd -->\n\n| crowd of" + crowd + "<!-- /bench:crowd -->\nafter\n"
	if string(got) != want {
		t.Errorf("the file is\n%s\nwant\n%s", got, want)
	}
	for _, row := range []string{"google/uuid NewString", "google/uuid NewV7", "oklog/ulid Make", "Lease.AppendName",
		"Lease.Name", "Minter.Lease", "Name.String", "Parse",
		"mint, kept connection, 1 client", "mint, kept connection, 4 clients", "mint, kept connection, 16 clients",
		"mint, new connection, 1 client", "mint, new connection, 4 clients", "mint, new connection, 16 clients",
		"new intents, 1 client", "new intents, 16 clients", "new intents, 64 clients",
		"known intents, 1 client", "known intents, 16 clients", "known intents, 64 clients",
		"operations, daemon, 64 clients", "operations, in-process, 1 client", "replays, 16 clients", "names absorbed, 10,000 at a time",
		"names of one text answer", "`opmint mint`", "the client's own user", "another user"} {
		if !strings.Contains(out.String(), "\n| "+row) {
			t.Errorf("no row of %s", row)
		}
	}
}

// TestBig measures a journal that is not so big.
func TestBig(t *testing.T) {
	file := filepath.Join(t.TempDir(), "README.md")
	if err := os.WriteFile(file, []byte("<!-- bench:big -->\n<!-- /bench:big -->\n<!-- bench:bigledger -->\n<!-- /bench:bigledger -->\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := run(t.Context(), options{file: file, rounds: 1, length: time.Microsecond, big: 5000}, &out); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		"\n| known intents, among 5000, 1 client |", "\n| new intents, among 5000, 16 clients |", "| new intents, among 1000, 16 clients |",
		"\nA journal with 5000 intents takes ", "Opening it takes ", "and after a crash ",
		"\n| operations, in-process, among 5000, 1 client |", "\nA ledger with 5000 records takes ", "then the heap has ",
	} {
		if !strings.Contains(out.String(), text) {
			t.Errorf("no %q in\n%s", text, &out)
		}
	}
}

func TestMarkdown(t *testing.T) {
	ms := func(times ...time.Duration) []time.Duration {
		for i := range times {
			times[i] *= time.Millisecond
		}
		return times
	}
	table := &table{id: "t", rounds: 3, subjects: []*subject{
		{name: "base", note: "theirs", times: ms(10, 12, 99), perRound: 100_000, allocs: 2},
		{name: "within", times: ms(3, 3, 1), perRound: 100_000, maxRatio: 0.25, noAllocs: true},
		{name: "noisy", times: ms(5, 15, 14), perRound: 100_000, maxRatio: 0.7},
		{name: "slow", times: ms(9, 9, 9), perRound: 100_000, maxRatio: 0.7},
		{name: "allocates", times: ms(1, 1, 1), perRound: 100_000, maxRatio: 0.25, noAllocs: true, allocs: 1},
	}}
	want := `| what | ns | of base | allocs | target |
|---|---:|---:|---:|---|
| base, theirs | 120.0 | 1.00 | 2 |  |
| within | 30.0 | 0.25 | 0 | ≤ 0.25, 0 allocs: reached |
| noisy | 140.0 | 0.50 | 0 | ≤ 0.70: reached |
| slow | 90.0 | 0.75 | 0 | ≤ 0.70: **missed** |
| allocates | 10.0 | 0.08 | 1 | ≤ 0.25, 0 allocs: **missed** |

Medians of 3 rounds in turn, ratios taken within each round; `
	if got := table.markdown(); !strings.HasPrefix(got, want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestMarkdownOfRates(t *testing.T) {
	seconds := func(times ...time.Duration) []time.Duration {
		for i := range times {
			times[i] *= time.Second
		}
		return times
	}
	theirs := &subject{name: "theirs", times: seconds(1, 4, 3), perRound: 30}
	table := &table{id: "t", rounds: 3, note: "A note.\n\n", comparisons: []comparison{
		{&subject{name: "faster", note: "1 client", times: seconds(2, 2, 2), perRound: 24_690}, theirs, 1},
		{&subject{name: "slower", times: seconds(2, 8, 3), perRound: 30}, theirs, 0.6},
		{&subject{name: "alone", times: seconds(1, 1, 1), perRound: 7, each: 1e6}, nil, 6e6},
		{&subject{name: "too slow alone", times: seconds(1, 1, 1), perRound: 5, each: 1e6}, nil, 6e6},
		{&subject{name: "without a target", times: seconds(1, 1, 1), perRound: 999}, theirs, 0},
	}}
	want := `| what | a second | against | a second | ratio | target |
|---|---:|---|---:|---:|---|
| faster, 1 client | 12,345 | theirs | 10 | 1234.50 | ≥ 1.00: reached |
| slower | 10 | theirs | 10 | 0.50 | ≥ 0.60: **missed** |
| alone | 7.00 million |  |  |  | ≥ 6.00 million: reached |
| too slow alone | 5.00 million |  |  |  | ≥ 6.00 million: **missed** |
| without a target | 999 | theirs | 10 | 99.90 |  |

A note.

Medians of 3 rounds in turn, ratios taken within each round; `
	if got := table.markdown(); !strings.HasPrefix(got, want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestReadHTTP: an answer that is none is no mint that was fast.
func TestReadHTTP(t *testing.T) {
	const good = "HTTP/1.1 201 Created\r\nContent-Length: 3\r\n\r\nabc"
	for _, c := range []struct {
		answer string
		ok     bool
	}{
		{good, true},
		{good[:len(good)-1], false},
		{"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 3\r\n\r\nabc", false},
		{"HTTP/1.1 201 Created\r\n\r\nabc", false},
		{"HTTP/1.1 201 Created\r\n", false},
		{strings.Repeat("x", 200), false},
		{"", false},
	} {
		// In pieces as the kernel may deliver it.
		err := readHTTP(iotest.HalfReader(strings.NewReader(c.answer)), make([]byte, 100))
		if (err == nil) != c.ok {
			t.Errorf("%q: %v", c.answer, err)
		}
	}
}

func TestServersThatDoNotStart(t *testing.T) {
	s := new(servers)
	defer s.stop()
	err := s.start(t.Context(), filepath.Join(t.TempDir(), "none"), "sh", "-c", "echo no leave >&2; exit 7")
	if err == nil || !strings.Contains(err.Error(), "exit status 7: no leave") {
		t.Errorf("%v", err)
	}
	if err := s.start(t.Context(), "none", "no-such-program"); !errors.Is(err, exec.ErrNotFound) {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.start(ctx, "none", "sleep", "60"); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

func TestMeasureStopsAtAnError(t *testing.T) {
	broken := errors.New("broken")
	for _, after := range []int{0, 10} {
		calls := 0
		table := &table{subjects: []*subject{{name: "it", run: func(n int) error {
			if calls += n; calls > after {
				return broken
			}
			return nil
		}}}}
		if err := table.measure(t.Context(), 20, time.Nanosecond); !errors.Is(err, broken) || !strings.Contains(err.Error(), "it") {
			t.Errorf("after %d calls: %v", after, err)
		}
	}
}

func TestMarkersThatAreMissing(t *testing.T) {
	for _, page := range []string{"", "<!-- bench:t -->\n", "<!-- /bench:t -->\n<!-- bench:t -->\n", "<!-- bench:u -->\n<!-- /bench:u -->\n"} {
		if got, err := replaceTable(page, "t", "new"); err == nil {
			t.Errorf("%q became %q", page, got)
		}
	}
	if err := writeTable(filepath.Join(t.TempDir(), "none.md"), "t", "new"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}
