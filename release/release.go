// Package release says which build of opmint a program is: both programs print it
// in the same form, for people and as JSON, and bug reports carry it.
//
//	opmintd v1.2.3
//	commit 0123456789abcdef0123456789abcdef01234567, modified
//	API level 1
//	go1.26.0 linux/amd64
//
// The Go tool records the commit in the program. It does not know a tag that the
// commit has, so builds of a release give the linker the version:
//
//	go build -ldflags "-X github.com/opmint/opmint/release.version=v1.2.3" ./cmd/...
package release

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/opmint/opmint/api"
)

// version is for the linker to set.
var version string

// Build says where a program comes from.
type Build struct {
	Version  string `json:"version"`           // "(devel)" where nobody knows
	Commit   string `json:"commit,omitzero"`   // "" in a build outside a repository
	Modified bool   `json:"modified,omitzero"` // built from files that differ from the commit
	APILevel int    `json:"api_level"`         // of the daemon's API
	Go       string `json:"go"`                // version of the compiler
	Platform string `json:"platform"`          // GOOS/GOARCH
}

// This returns the build of the running program.
func This() Build {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	return of(info, version)
}

// of reads a build from what the Go tool recorded in it; given is the version that
// the linker was given, or "".
func of(info *debug.BuildInfo, given string) Build {
	b := Build{
		Version:  cmp.Or(given, info.Main.Version, "(devel)"),
		APILevel: api.Level,
		Go:       cmp.Or(info.GoVersion, runtime.Version()),
		Platform: runtime.GOOS + "/" + runtime.GOARCH,
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
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
