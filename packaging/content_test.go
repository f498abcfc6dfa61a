//go:build packages

package packaging_test

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestLintian(t *testing.T) {
	output(t, "lintian", "--fail-on", "error,warning", deb)
}

// TestStatic: the programs need no library and no loader.
func TestStatic(t *testing.T) {
	for _, name := range []string{"opmint", "opmintd"} {
		wantStatic(t, filepath.Join(unpacked(t), "usr/bin", name), elf.EM_X86_64)
	}
}

// TestArm64 builds the packages for another architecture than this machine's.
func TestArm64(t *testing.T) {
	deb, rpm, err := build("..", t.TempDir(), "GOARCH=arm64")
	if err != nil {
		t.Fatal(err)
	}
	if arch := output(t, "dpkg-deb", "--field", deb, "Architecture"); arch != "arm64\n" {
		t.Errorf("the deb is for %s", arch)
	}
	if arch := output(t, "rpm", "--query", "--package", "--queryformat", "%{ARCH}", rpm); arch != "aarch64" {
		t.Errorf("the rpm is for %s", arch)
	}
	dir := t.TempDir()
	output(t, "dpkg-deb", "--extract", deb, dir)
	wantStatic(t, filepath.Join(dir, "usr/bin/opmintd"), elf.EM_AARCH64)
}

func wantStatic(t *testing.T, name string, machine elf.Machine) {
	t.Helper()
	file, err := elf.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if file.Machine != machine {
		t.Errorf("%s is for %v, want %v", name, file.Machine, machine)
	}
	for _, p := range file.Progs {
		if p.Type == elf.PT_INTERP || p.Type == elf.PT_DYNAMIC {
			t.Errorf("%s is linked dynamically", name)
		}
	}
}

// TestManPages has both implementations of man read all pages.
func TestManPages(t *testing.T) {
	pages, err := filepath.Glob(unpacked(t) + "/usr/share/man/man?/*.gz")
	if err != nil || len(pages) < 2 {
		t.Fatalf("%q, %v", pages, err)
	}
	output(t, "gunzip", pages...)
	for _, page := range pages {
		page = strings.TrimSuffix(page, ".gz")
		output(t, "mandoc", "-T", "lint", "-W", "warning", page)
		if !strings.Contains(output(t, "lexgrog", page), " - ") {
			t.Errorf("%s has no line for whatis", page)
		}
		cmd := exec.Command("man", "--warnings", "--local-file", "--troff-device=utf8", "--ditroff", page)
		var stderr strings.Builder
		cmd.Stderr = &stderr
		if err := cmd.Run(); err != nil || stderr.Len() > 0 {
			t.Errorf("%s: %v\n%s", cmd, err, &stderr)
		}
	}
}

// TestCompletions has each shell load its scripts and complete a command, a flag and
// a flag's value.
func TestCompletions(t *testing.T) {
	dir := unpacked(t)
	t.Setenv("PATH", dir+"/usr/bin:"+os.Getenv("PATH"))
	t.Setenv("HOME", t.TempDir())
	t.Setenv("SHARE", dir+"/usr/share")
	for _, c := range []struct{ line, want string }{
		{"opmint min", "mint"}, {"opmint mint --for", "--format"}, {"opmintd --assume p", "physical"},
	} {
		t.Setenv("LINE", c.line)
		for _, shell := range [][]string{
			{"bash", "--norc", "-c", `
				source /usr/share/bash-completion/bash_completion
				read -ra COMP_WORDS <<<"$LINE"
				source "$SHARE/bash-completion/completions/$COMP_WORDS"
				COMP_LINE=$LINE COMP_POINT=${#LINE} COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) COMP_TYPE=9
				"__start_$COMP_WORDS" "$COMP_WORDS" "${COMP_WORDS[-1]}" "${COMP_WORDS[-2]}"
				printf '%s\n' "${COMPREPLY[@]}"`},
			{"fish", "--no-config", "-c", `
				source "$SHARE/fish/vendor_completions.d/"(string split ' ' $LINE)[1].fish
				complete --do-complete "$LINE"`},
			{"zsh", "-f", "-c", `
				fpath=($SHARE/zsh/vendor-completions $fpath)
				autoload -Uz compinit && compinit -u -d "$HOME/zcompdump"
				_describe() { print -l -- ${(P)${@[-1]}} ${(P)${@[2]}} }
				words=(${=LINE}) CURRENT=${#words}
				autoload +X $_comps[$words[1]]
				$_comps[$words[1]]`},
		} {
			if out := output(t, shell[0], shell[1:]...); !strings.Contains(out, c.want) {
				t.Errorf("%s completes %q with %q, want %q", shell[0], c.line, out, c.want)
			}
		}
	}
}

// TestVersion: both kinds of packages sort the versions of commits in the order of
// the commits.
func TestVersion(t *testing.T) {
	const seconds = "1769860800"
	last := "0~git20260131115959.c0ffee1"
	for _, c := range []struct{ describe, want string }{
		{"c0ffee1", "0~git20260131120000.c0ffee1"},
		{"c0ffee1-dirty", "0~git20260131120000.c0ffee1+dirty"},
		{"v0.1.0", "0.1.0"},
		{"v0.1.0-4-gc0ffee1", "0.1.0+4.gc0ffee1"},
		{"v0.1.0-10-gc0ffee1", "0.1.0+10.gc0ffee1"},
		{"v1.0.0-rc.1", "1.0.0~rc.1"},
		{"v1.0.0-rc.1-2-gc0ffee1-dirty", "1.0.0~rc.1+2.gc0ffee1+dirty"},
		{"v1.0.0", "1.0.0"},
	} {
		got := strings.TrimSpace(output(t, "./version", c.describe, seconds))
		if got != c.want {
			t.Errorf("%s became %s, want %s", c.describe, got, c.want)
		}
		output(t, "dpkg", "--compare-versions", last, "lt", got)
		if order := output(t, "rpm", "--eval", `%{lua:print(rpm.vercmp("`+last+`", "`+got+`"))}`); order != "-1\n" {
			t.Errorf("rpm: %s, %s: %s", last, got, order)
		}
		last = got
	}
}
