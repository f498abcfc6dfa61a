package ledger

import (
	"bytes"
	"errors"
	"testing"

	"github.com/opmint/opmint/store"
)

// samples are records of all kinds.
func samples() []record {
	done := &op{
		state: Applied, settled: true, forked: true, retry: true, uid: 1000, fence: 3, holder: "h", fingerprint: Fingerprint{1},
		began: 5, ended: 6, due: 7,
	}
	small, _ := keepResult(&Result{Status: 200, Headers: map[string][]string{"A": {"1", "2"}, "B": {}}, Body: []byte("b")})
	done.keep(small)
	large, _ := keepResult(&Result{Body: make([]byte, 1000)})
	lapsed := &op{state: Unknown, lapsed: true, holder: "h", fence: 1, began: 5, due: 7}
	apart := &op{state: Failed, began: 5, ended: 6, due: 7}
	apart.keep(large)
	e := &event{
		number: 5, what: whatBegun, by: 1001, time: 5, clock: 6, scope: "s",
		items: []item{
			{kind: kindOp, key: "n", rec: lapsed}, {kind: kindFloor, key: "i", rec: &floor{highest: 3}}, {kind: kindOp, key: "gone"},
		},
	}
	return []record{
		&head{id: [16]byte{1}, since: 1, time: 2, wall: 3, events: 4, suspect: true, counts: Counts{Running: 1}, bytes: 5},
		&account{running: 1, unknown: 2, scopes: 3, bytes: 4},
		&chain{last: mark{number: 1}, cursor: "o123", trimming: true},
		&scope{place: place{scope: 1}, uid: 2, horizon: 3, cut: 4, visit: 5, counts: Counts{Forked: 1}},
		&floor{uid: 1, highest: 4, purged: 5, seq: 6},
		&tombstone{uid: 1, made: 2},
		&setting{id: 1, uid: 2, horizon: 3, cut: 4},
		done, lapsed, apart, &op{state: Running, fence: 1, holder: "h", began: 1, due: 2},
		&stored{Result{Status: 204, BodyOmitted: true}},
		&stored{Result{Status: 200, Headers: map[string][]string{"A": {"1"}}, Body: []byte("b")}},
		&block{prev: [32]byte{1}, events: appendText(nil, encode(e))},
		e,
	}
}

// empty returns an empty record of the same type.
func empty(r record) record {
	switch r.(type) {
	case *head:
		return &head{}
	case *account:
		return &account{}
	case *chain:
		return &chain{}
	case *scope:
		return &scope{}
	case *floor:
		return &floor{}
	case *tombstone:
		return &tombstone{}
	case *setting:
		return &setting{}
	case *op:
		return &op{}
	case *stored:
		return &stored{}
	case *block:
		return &block{}
	}
	return &event{}
}

// TestDamagedRecords: of every record, each cut and each changed byte is either seen
// or another record that is spelled right.
func TestDamagedRecords(t *testing.T) {
	for _, r := range samples() {
		data := encode(r)
		if err := decode(data, empty(r)); err != nil {
			t.Errorf("%T: %v", r, err)
		}
		for i := range data {
			cut := empty(r)
			if err := decode(data[:i], cut); err == nil && !bytes.Equal(encode(cut), data[:i]) {
				t.Errorf("%T cut to %d bytes: spelled otherwise", r, i)
			}
			changed := bytes.Clone(data)
			changed[i] ^= 0x80
			other := empty(r)
			switch err := decode(changed, other); {
			case err == nil && !bytes.Equal(encode(other), changed):
				t.Errorf("%T with another byte %d: spelled otherwise", r, i)
			case err != nil && !errors.Is(err, store.ErrDamaged):
				t.Errorf("%T with another byte %d: %v", r, i, err)
			}
		}
	}
}

// FuzzRecord: whatever is read is spelled as it would be written, and nothing panics.
func FuzzRecord(f *testing.F) {
	for i, r := range samples() {
		f.Add(i, encode(r))
	}
	f.Fuzz(func(t *testing.T, kind int, data []byte) {
		all := samples()
		r := empty(all[uint(kind)%uint(len(all))])
		switch err := decode(data, r); {
		case err == nil && !bytes.Equal(encode(r), data):
			t.Errorf("%x is spelled %x", data, encode(r))
		case err != nil && !errors.Is(err, store.ErrDamaged):
			t.Error(err)
		}
	})
}
