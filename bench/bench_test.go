package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestRunPutsTheTableIntoTheFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "README.md")
	page := "before\n<!-- bench:names -->\nold\n<!-- /bench:names -->\nafter\n"
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
	want := "before\n<!-- bench:names -->\n\n" + out.String() + "<!-- /bench:names -->\nafter\n"
	if string(got) != want {
		t.Errorf("the file is\n%s\nwant\n%s", got, want)
	}
	for _, row := range []string{"google/uuid NewString", "google/uuid NewV7", "oklog/ulid Make", "Lease.AppendName",
		"Lease.Name", "Minter.Lease", "Name.String", "Parse"} {
		if !strings.Contains(out.String(), "\n| "+row) {
			t.Errorf("no row of %s", row)
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
		if err := table.measure(20, time.Nanosecond); !errors.Is(err, broken) || !strings.Contains(err.Error(), "it") {
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
