package main

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestOneLine(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", ""},
		{"é", "é"},
		{"a\nb\x1b[31m\u202e", `a\nb\x1b[31m\u202e`},
		{strings.Repeat("é", 512), strings.Repeat("é", 512)},
		{strings.Repeat("é", 256) + "ab" + strings.Repeat("é", 255), strings.Repeat("é", 256) + "…" + strings.Repeat("é", 255)},
		{strings.Repeat("\n", 100_000), strings.Repeat(`\n`, 128) + "…n" + strings.Repeat(`\n`, 127)},
	} {
		got := oneLine(c.text)
		if got != c.want {
			t.Errorf("%.20q… became %q, want %q", c.text, got, c.want)
		}
		if n := utf8.RuneCountInString(got); n > maxErrorLine {
			t.Errorf("%.20q… became %d characters", c.text, n)
		}
	}
}
