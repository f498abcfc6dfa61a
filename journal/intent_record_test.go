package journal_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/opmint/opmint/journal"
	"github.com/opmint/opmint/keygen"
	"github.com/opmint/opmint/store"
	"github.com/opmint/opmint/store/storetest"
)

// FuzzIntentRecord: what is read is what would be written, all else is damaged.
func FuzzIntentRecord(f *testing.F) {
	const name = "j1-mfy3v2w0adrxb1b0pz-00000001-00000000-fn79s05xzn12hmmb16"
	for _, head := range []string{
		strings.Repeat("\x00", 24), strings.Repeat("\x00", 56), strings.Repeat("\xff", 24), strings.Repeat("\x00", 25),
		strings.Repeat("\x00", 24) + "\x01", strings.Repeat("\x00", 24) + "\x02", "",
	} {
		f.Add([]byte(head + name))
		f.Add([]byte(head + name[1:] + "x"))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, respell := range []func([]byte) ([]byte, error){journal.RespellIntent, journal.RespellItem} {
			switch again, err := respell(b); {
			case err != nil && !errors.Is(err, store.ErrDamaged):
				t.Error(err)
			case err == nil && string(again) != string(b):
				t.Errorf("%q is written %q", b, again)
			}
		}
	})
}

// TestDamagedRecords: what nobody has written is an error, and nothing is made up
// in its place.
func TestDamagedRecords(t *testing.T) {
	for _, prefix := range []string{"clock", "i/", "m/", "n/", "s/", "t/", "i/\x00\x00\x00\x01\xff", "d/"} {
		s, c := storetest.NewMemory(), newClocks()
		m := remembering(t, s, c)
		if _, err := m.Name(t.Context(), 1, journal.Ask{Intent: "gone", Retain: time.Minute}); err != nil {
			t.Fatal(err)
		}
		m.name(t, "i")
		m.number(t, "i")
		c.pass(time.Minute)
		m.forget(t)
		key := records(t, s, prefix)[0]
		if prefix == "d/" {
			if err := s.Commit(t.Context(), nil, []store.Write{{Key: []byte("d/\x00"), Value: []byte{1}}}); err != nil {
				t.Fatal(err)
			}
		} else if err := s.Commit(t.Context(), nil, []store.Write{{Key: []byte(key), Value: []byte("?")}}); err != nil {
			t.Fatal(err)
		}
		var errs []error
		_, err := remember(t.Context(), s, keygen.ClassJ, nil, c)
		errs = append(errs, err)
		_, err = m.Name(t.Context(), 1, journal.Ask{Intent: "i"})
		errs = append(errs, err)
		_, err = m.Name(t.Context(), 1, journal.Ask{Intent: "gone"})
		errs = append(errs, err)
		_, err = m.Number(t.Context(), 1, "s", "i")
		errs = append(errs, err, m.Void(t.Context(), 1, "s", 0), m.Delete(t.Context(), 1, "i"))
		_, err = m.KeepStep(t.Context())
		if err = errors.Join(append(errs, err)...); !errors.Is(err, store.ErrDamaged) {
			t.Errorf("%q: %v", key, err)
		}
	}
}
