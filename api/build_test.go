package api

import (
	"runtime/debug"
	"strings"
	"testing"
	"time"
)

func TestBuild(t *testing.T) {
	info := &debug.BuildInfo{
		GoVersion: "go1.26.0",
		Main:      debug.Module{Version: "v0.3.0"},
		Settings:  []debug.BuildSetting{{Key: "vcs.revision", Value: "c0ffee"}, {Key: "vcs.modified", Value: "true"}},
	}
	for _, c := range []struct {
		info       *debug.BuildInfo
		version    string
		commit     string
		text, json string
	}{
		{
			info, "", "", "opmint v0.3.0\ncommit c0ffee, modified\nAPI level 1\ngo1.26.0 ",
			`{"version":"v0.3.0","commit":"c0ffee","modified":true,"api_level":1,"go":"go1.26.0","platform":"`,
		},
		{
			info, "v1.0.0", "", "opmint v1.0.0\ncommit c0ffee, modified\n",
			`{"version":"v1.0.0","commit":"c0ffee",`,
		},
		{
			info, "v1.0.0", "beef", "opmint v1.0.0\ncommit beef\n",
			`{"version":"v1.0.0","commit":"beef","api_level":1,`,
		},
		{
			&debug.BuildInfo{}, "v1.0.0-1-gbeef-dirty", "beef", "opmint v1.0.0-1-gbeef-dirty\ncommit beef, modified\n",
			`{"version":"v1.0.0-1-gbeef-dirty","commit":"beef","modified":true,`,
		},
		{
			&debug.BuildInfo{GoVersion: "go1.26.1"}, "", "", "opmint (devel)\nAPI level 1\ngo1.26.1 ",
			`{"version":"(devel)","api_level":1,"go":"go1.26.1",`,
		},
	} {
		var text, json strings.Builder
		if err := buildOf(c.info, c.version, c.commit, "").Print(&text, "opmint"); err != nil || !strings.HasPrefix(text.String(), c.text) {
			t.Errorf("printed %q, %v; want %q…", &text, err, c.text)
		}
		if err := buildOf(c.info, c.version, c.commit, "").PrintJSON(&json); err != nil || !strings.HasPrefix(json.String(), c.json) {
			t.Errorf("printed %q, %v; want %q…", &json, err, c.json)
		}
	}
}

// TestCommitted: the commit's time is the linker's where the commit is, else the Go tool's.
func TestCommitted(t *testing.T) {
	recorded := &debug.BuildInfo{Settings: []debug.BuildSetting{{Key: "vcs.time", Value: "2026-01-31T12:00:00Z"}}}
	for _, c := range []struct {
		info              *debug.BuildInfo
		commit, committed string
		want              time.Time
	}{
		{recorded, "", "", time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)},
		{recorded, "beef", "1790000000", time.Date(2026, 9, 21, 14, 13, 20, 0, time.UTC)},
		{recorded, "beef", "", time.Time{}},
		{&debug.BuildInfo{}, "", "", time.Time{}},
	} {
		if got := buildOf(c.info, "", c.commit, c.committed).Committed; !got.Equal(c.want) {
			t.Errorf("%q at %q: %v, want %v", c.commit, c.committed, got, c.want)
		}
	}
}
