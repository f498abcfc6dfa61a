package ledger

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"
)

// TestFormat: records and events are spelled as ever: what is on disks must be read, and
// hashes that somebody has noted must not change.
func TestFormat(t *testing.T) {
	var got []byte
	for _, r := range samples() {
		got = fmt.Appendf(got, "%T %x\n", r, encode(r))
		if e, ok := r.(*event); ok {
			got = fmt.Appendf(got, "%s\n", e.line(1000, [32]byte{1}))
			got = fmt.Appendf(got, "%s\n", e.line(sharedOwner, [32]byte{}))
		}
	}
	path := filepath.Join("testdata", "format-v1.txt")
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Errorf("%s has\n%s\nwhere this program writes\n%s", path, want, got)
	}
}

// TestLinesAreJSON: whatever the texts in it are, a line is JSON that says them.
func TestLinesAreJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringN(0, 20, MaxScope)
		scope, name, holder := text.Draw(t, "scope"), text.Draw(t, "name"), text.Draw(t, "holder")
		e := &event{
			number: 1, what: whatFinished, by: 8, time: 5, clock: 6, scope: scope + "s",
			items: []item{{kind: kindOp, key: name, rec: &op{state: Applied, holder: holder, ended: 1}}},
		}
		var got struct {
			Scope, Name string
			Operation   struct{ Holder string }
		}
		line := e.line(7, [32]byte{})
		if err := json.Unmarshal(line, &got); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if got.Scope != scope+"s" || got.Name != name || got.Operation.Holder != holder {
			t.Fatalf("%s says %+v, want %q, %q, %q", line, got, scope, name, holder)
		}
	})
}
