// Package manual writes what a program's users read with the tools of their
// system: a man page for each of its commands, and its completions. All of it comes
// from the commands themselves, so it says what --help says.
//
//	DIR/man/man1/opmint.1.gz                      the program
//	DIR/man/man1/opmint-mint.1.gz                 one of its commands
//	DIR/bash-completion/completions/opmint
//	DIR/fish/vendor_completions.d/opmint.fish
//	DIR/zsh/site-functions/_opmint
//
// DIR is laid out as /usr/share. The same commands and the same date give the same
// bytes. A program has this in a build with the tag manual, and then does nothing
// else; what is shipped has no code for it:
//
//	go run -tags manual ./cmd/opmint DIR 2026-01-31
package manual

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
)

// sections are the programs and where in the manual they are: 1 is for all users,
// 8 for administrators.
var sections = map[string]int{"opmint": 1, "opmintd": 8}

// Run is the program. Its arguments args are the folder and the date of the pages;
// root is what they are about, in the given version.
func Run(args []string, root *cobra.Command, version string) error {
	if len(args) != 2 {
		return errors.New("usage: DIR YYYY-MM-DD")
	}
	if _, err := time.Parse(time.DateOnly, args[1]); err != nil {
		return fmt.Errorf("date of the man pages: %w", err)
	}
	if sections[root.Name()] == 0 {
		return fmt.Errorf("write the manual of %q: there is no such program", root.Name())
	}
	if err := writePages(args[0], root, edition{version, args[1]}); err != nil {
		return fmt.Errorf("write man pages: %w", err)
	}
	if err := writeCompletions(args[0], root); err != nil {
		return fmt.Errorf("write completions: %w", err)
	}
	return nil
}

// writePages writes the page of cmd and those of the commands below it.
func writePages(dir string, cmd *cobra.Command, e edition) error {
	var file bytes.Buffer
	// Fails for a level that does not exist.
	z, _ := gzip.NewWriterLevel(&file, gzip.BestCompression)
	if _, err := z.Write(page(cmd, e)); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	section := sections[cmd.Root().Name()]
	name := fmt.Sprintf("man/man%d/%s.%d.gz", section, pageName(cmd), section)
	if err := write(filepath.Join(dir, name), file.Bytes()); err != nil {
		return err
	}
	for _, sub := range cmd.Commands() {
		if err := writePages(dir, sub, e); err != nil {
			return err
		}
	}
	return nil
}

// writeCompletions writes the scripts of the shells that have a place for those of
// all programs.
func writeCompletions(dir string, root *cobra.Command) error {
	name := root.Name()
	var bash, fish, zsh bytes.Buffer
	err := errors.Join(
		root.GenBashCompletionV2(&bash, true), root.GenFishCompletion(&fish, true), root.GenZshCompletion(&zsh),
	)
	if err != nil {
		return err
	}
	return errors.Join(
		write(filepath.Join(dir, "bash-completion/completions", name), bash.Bytes()),
		write(filepath.Join(dir, "fish/vendor_completions.d", name+".fish"), fish.Bytes()),
		write(filepath.Join(dir, "zsh/site-functions", "_"+name), zsh.Bytes()),
	)
}

func write(name string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return os.WriteFile(name, content, 0o644)
}
