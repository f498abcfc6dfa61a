package server

import (
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"
)

func FuzzSplitPath(f *testing.F) {
	for _, target := range []string{
		"/", "/v1/names", "/v1/names?count=2", "//", "/a/../b", "/a%2Fb/%2e%2e", "/%", "/%ff", "*", "", "http://opmint/v1/x",
		"http://opmint", "/http://opmint/x", "://", "?", "/\x00/ /\"",
	} {
		f.Add(target)
	}
	f.Fuzz(func(t *testing.T, target string) {
		segments, err := splitPath(nil, target)
		if err != nil {
			return
		}
		encoded := ""
		for _, s := range segments {
			if s == "" || !utf8.ValidString(s) {
				t.Errorf("%q has the segment %q", target, s)
			}
			encoded += "/" + url.PathEscape(s)
		}
		// What was accepted is found again under its plain spelling, and under
		// no other path.
		again, err := splitPath(nil, encoded)
		if len(segments) > 0 && (err != nil || strings.Join(again, "\x00") != strings.Join(segments, "\x00")) {
			t.Errorf("%q is %q, and %q is %q, %v", target, segments, encoded, again, err)
		}
	})
}
