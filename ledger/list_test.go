package ledger_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/opmint/opmint/ledger"
)

// listed lists all names, a few at a time.
func listed(t reporter, l ledger.Ledger, o ledger.ListOptions) (names []string) {
	t.Helper()
	for {
		page, err := l.List(t.Context(), "s", o)
		if err != nil {
			t.Fatalf("List: %v", err)
		}
		for _, op := range page.Operations {
			names = append(names, op.Ref.Name)
			if op.Result != nil || o.State != "" && op.State != o.State || op.Replayed != op.LeaseExpires.IsZero() {
				t.Errorf("listed %+v", op)
			}
		}
		if page.Next == "" {
			return names
		}
		o.After = page.Next
	}
}

func TestList(t *testing.T) {
	r := newRig(t)
	if page, err := r.As(1).List(t.Context(), "s", ledger.ListOptions{}); err != nil || page.Operations != nil || page.Next != "" {
		t.Errorf("of nothing %+v, %v", page, err)
	}
	want := map[ledger.State][]string{}
	add := func(state ledger.State, name string) {
		want[state], want[""] = append(want[state], name), append(want[""], name)
	}
	for i, state := range []ledger.State{ledger.Applied, ledger.Failed, ledger.Unknown, ledger.Running, ledger.Unknown} {
		for j := range 7 {
			name := fmt.Sprintf("%d%d", j, i)
			op := begin(t, r.As(1), name, "h")
			add(state, name)
			switch {
			case state == ledger.Running:
				if _, err := r.As(1).Extend(t.Context(), op.Ref, op.Hold(), time.Hour); err != nil {
					t.Fatal(err)
				}
			case i < 4:
				finish(t, r.As(1), op, state)
			}
		}
	}
	begin(t, r.As(2), "another's", "h")
	r.clock.pass(31 * time.Second) // the last seven lapse, and nobody has written it down
	for state, names := range want {
		slices.Sort(names)
		for _, limit := range []int{0, 1, 3, ledger.MaxList} {
			if got := listed(t, r.As(1), ledger.ListOptions{State: state, Limit: limit}); !slices.Equal(got, names) {
				t.Errorf("%s, by %d: %q, want %q", state, limit, got, names)
			}
		}
	}
	if got := listed(t, r.As(1), ledger.ListOptions{After: "53"}); !slices.Equal(got, want[""][30:]) && len(got) != 6 {
		t.Errorf("after 53: %q", got)
	}
	r.clock.pass(192 * time.Hour)
	if got := listed(t, r.As(1), ledger.ListOptions{}); len(got) != 21 {
		t.Errorf("what is expired is listed: %q", got)
	}
}

// TestLongList: a page may be empty and not be the last, so that no call reads all.
func TestLongList(t *testing.T) {
	r := newRig(t)
	const names = 9000
	items := make([]ledger.Item, names)
	for i := range items {
		items[i].Name = fmt.Sprintf("%05d", i)
	}
	absorb(t, r.As(1), items...)
	run(t, r.As(1), "zzz")
	finish(t, r.As(1), begin(t, r.As(1), "zzzz", "h"), ledger.Failed)
	page, err := r.As(1).List(t.Context(), "s", ledger.ListOptions{State: ledger.Failed})
	if err != nil || len(page.Operations) > 0 || page.Next == "" {
		t.Errorf("the first page is %+v, %v", page, err)
	}
	if got := listed(t, r.As(1), ledger.ListOptions{State: ledger.Failed}); !slices.Equal(got, []string{"zzzz"}) {
		t.Errorf("%q", got)
	}
}
