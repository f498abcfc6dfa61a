package api

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"time"
)

// version, commit and committed, the commit's time in Unix seconds, are for the linker
// to set. A version that ends in dirty is of files that differ from the commit's, as
// git describe has it.
var version, commit, committed string

const dirty = "-dirty"

// Build says where a program comes from.
type Build struct {
	Version   string    `json:"version"`            // "(devel)" where nobody knows
	Commit    string    `json:"commit,omitzero"`    // "" in a build outside a repository
	Modified  bool      `json:"modified,omitzero"`  // built from files that differ from the commit
	APILevel  int       `json:"api_level"`          // of the daemon's API
	Go        string    `json:"go"`                 // version of the compiler
	Platform  string    `json:"platform"`           // GOOS/GOARCH
	Committed time.Time `json:"committed,omitzero"` // the commit's time, in UTC; zero where nobody knows
}

// ThisBuild returns the build of the running program. Where the linker is not told, as in
//
//	go build -ldflags "-X github.com/opmint/opmint/api.version=v1.2.3" ./cmd/...
//
// it is what the Go tool recorded.
func ThisBuild() Build {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	return buildOf(info, version, commit, committed)
}

// buildOf reads a build from what the Go tool recorded in it, and from the version, the
// commit and its time that the linker was given, or "".
func buildOf(info *debug.BuildInfo, version, commit, committed string) Build {
	b := Build{
		Version:  cmp.Or(version, info.Main.Version, "(devel)"),
		APILevel: Level,
		Go:       cmp.Or(info.GoVersion, runtime.Version()),
		Platform: runtime.GOOS + "/" + runtime.GOARCH,
	}
	if commit != "" {
		b.Commit, b.Modified = commit, strings.HasSuffix(version, dirty)
		if seconds, err := strconv.ParseInt(committed, 10, 64); err == nil {
			b.Committed = time.Unix(seconds, 0).UTC()
		}
		return b
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		case "vcs.time":
			b.Committed, _ = time.Parse(time.RFC3339, s.Value) // zero says it
		}
	}
	return b
}

// Print writes b to w for people, as the build of the named program.
func (b Build) Print(w io.Writer, program string) error {
	commit := ""
	if b.Commit != "" {
		commit = "commit " + b.Commit
		if b.Modified {
			commit += ", modified"
		}
		commit += "\n"
	}
	_, err := fmt.Fprintf(w, "%s %s\n%sAPI level %d\n%s %s\n", program, b.Version, commit, b.APILevel, b.Go, b.Platform)
	return err
}

// PrintJSON writes b to w as one line of JSON.
func (b Build) PrintJSON(w io.Writer) error {
	return json.NewEncoder(w).Encode(b)
}
