package main

import (
	"cmp"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/opmint/opmint/api"
)

// version is set by -ldflags "-X main.version=v1.2.3" in builds of a release.
var version string

type versionOptions struct {
	json bool
}

func newVersionCommand() *cobra.Command {
	var o versionOptions
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Show the program's version and the API level that it speaks",
		Long: `Show the program's version, the commit that it was built from where that is known,
the level of the daemon's API that it speaks, and the Go version and platform of the
build.`,
		Example: `  opmint version
  opmint version --json`,
		Args:                  noArguments,
		ValidArgsFunction:     cobra.NoFileCompletions,
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return printVersion(cmd.OutOrStdout(), thisBuild(), o)
		},
	}
	cmd.Flags().BoolVar(&o.json, "json", false, "print JSON")
	return cmd
}

// build says where a binary comes from.
type build struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitzero"`   // "" in a build outside a repository
	Modified bool   `json:"modified,omitzero"` // built from files that differ from the commit
	APILevel int    `json:"api_level"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// thisBuild returns the build of the running program.
func thisBuild() build {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	return buildOf(info, version)
}

// buildOf reads a build from what the Go tool recorded in it; release is the
// version that the linker was given, or "".
func buildOf(info *debug.BuildInfo, release string) build {
	b := build{
		Version:  cmp.Or(release, info.Main.Version, "(devel)"),
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

func printVersion(w io.Writer, b build, o versionOptions) error {
	if o.json {
		return printJSON(w, b)
	}
	commit := ""
	if b.Commit != "" {
		commit = "commit " + b.Commit
		if b.Modified {
			commit += ", modified"
		}
		commit += "\n"
	}
	_, err := fmt.Fprintf(w, "opmint %s\n%sAPI level %d\n%s %s\n", b.Version, commit, b.APILevel, b.Go, b.Platform)
	return err
}
