package server

import "testing"

func TestWantsText(t *testing.T) {
	for accept, want := range map[string]bool{
		"":                                      false,
		"text/plain":                            true,
		"TEXT/Plain; charset=utf-8":             true,
		"text/*":                                true,
		"*/*":                                   false,
		"application/json":                      false,
		"text/plain, */*":                       true,
		"text/plain, */*;q=0.1":                 true,
		"text/html, text/plain;q=0.5":           true,
		"text/plain, application/json":          false,
		"text/plain;q=0.5, application/json":    false,
		"text/plain, application/json;q=0.9":    true,
		"text/plain;q=0":                        false,
		"text/plain;q=0, */*":                   false,
		"text/*;q=0.2, text/plain, */*;q=0.5":   true,
		"text/plain;q=2":                        false,
		"text/plain;q=NaN":                      false,
		"image/png":                             false,
		"text/plain;q":                          false,
		",;,text/plain":                         true,
		"application/*;q=0.1, text/*;q=0.1":     false,
		"application/json;q=0, */*":             true,
		"application/problem+json, text/plain":  true,
		"text/event-stream, application/*":      false,
		"text/plain;q=0.001, application/x-foo": true,
	} {
		if got := wantsText([]string{accept}); got != want {
			t.Errorf("Accept: %s: %v", accept, got)
		}
	}
	if wantsText(nil) || !wantsText([]string{"application/json;q=0.3", "text/plain;q=0.4"}) {
		t.Error("no header, or two of them")
	}
}

func FuzzWantsText(f *testing.F) {
	for _, accept := range []string{"", "*/*", "text/plain;q=0.5, */*;q=0.4", "text/plain;q=", ",", `text/plain;x="`} {
		f.Add(accept)
	}
	f.Fuzz(func(t *testing.T, accept string) {
		// Who takes only one of the two gets it, whatever else stands there.
		if wantsText([]string{accept, "application/json;q=0"}) != wantsText([]string{"application/json;q=0", accept}) {
			t.Errorf("Accept: %q: its order matters", accept)
		}
	})
}
