package opmint_test

import (
	"bufio"
	"bytes"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/opmint/opmint/api"
	"github.com/opmint/opmint/swtpm"
)

// pages returns the text of all that is written for users, by path.
func pages(t *testing.T) map[string]string {
	t.Helper()
	paths, err := filepath.Glob("docs/*.md")
	if err != nil || len(paths) == 0 {
		t.Fatalf("docs has %q, %v", paths, err)
	}
	texts := map[string]string{}
	for _, path := range append(paths, "README.md") {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		texts[path] = string(text)
	}
	return texts
}

var (
	link     = regexp.MustCompile(`\[([^]\n]+)\]\(([^)\s]+)\)`)
	testName = regexp.MustCompile(`\b(Test|Fuzz|Benchmark)\w+`)
)

// TestLinks follows the links to files, and looks for the tests that they name.
func TestLinks(t *testing.T) {
	for page, text := range pages(t) {
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			if strings.Contains(m[2], "://") {
				continue
			}
			target := filepath.Join(filepath.Dir(page), m[2])
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s: [%s]: %v", page, m[1], err)
				continue
			}
			for _, name := range testName.FindAllString(m[1], -1) {
				if code, err := os.ReadFile(target); err != nil || !bytes.Contains(code, []byte("func "+name+"(")) {
					t.Errorf("%s: there is no %s in %s: %v", page, name, target, err)
				}
			}
		}
	}
}

// build returns a folder with both programs.
func build(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if out, err := exec.Command("go", "build", "-o", dir+"/", "./cmd/opmint", "./cmd/opmintd").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return dir
}

var (
	fence     = regexp.MustCompile("(?ms)^```\\w*\n(.*?)^```$")
	inline    = regexp.MustCompile("`(opmintd? [^`\n]+)`")
	remark    = regexp.MustCompile(`\s{2,}.*|\s#.*`)
	asUser    = regexp.MustCompile(`^(sudo|runuser -u \w+ --) `)
	separator = regexp.MustCompile(`\$\(|[;&|>)]+`)
)

// commands returns what a page has the reader type that begins with one of the
// programs, without what is only said about it.
func commands(text string) [][]string {
	var lines []string
	for _, block := range fence.FindAllStringSubmatch(text, -1) {
		lines = append(lines, strings.Split(block[1], "\n")...)
	}
	for line := range strings.Lines(text) {
		for _, m := range inline.FindAllStringSubmatch(line, -1) {
			if !strings.HasSuffix(line, "| planned |\n") {
				lines = append(lines, m[1])
			}
		}
	}
	var found [][]string
	for _, line := range lines {
		for _, part := range separator.Split(remark.ReplaceAllString(strings.TrimSpace(line), ""), -1) {
			words := strings.Fields(asUser.ReplaceAllString(strings.TrimSpace(part), ""))
			if len(words) > 0 && slices.Contains([]string{"opmint", "opmintd"}, filepath.Base(words[0])) {
				words[0] = filepath.Base(words[0])
				found = append(found, words)
			}
		}
	}
	return found
}

// TestCommandLines has the programs parse each command line of the pages: with
// --help a program checks its flags and their values, and does no more.
func TestCommandLines(t *testing.T) {
	dir := build(t)
	parsed := map[string]bool{}
	for page, text := range pages(t) {
		for _, words := range commands(text) {
			line := strings.Join(words, " ")
			if parsed[line] {
				continue
			}
			parsed[line] = true
			end := len(words)
			if i := slices.Index(words, "--"); i >= 0 {
				end = i
			}
			out, err := exec.Command(filepath.Join(dir, words[0]), slices.Insert(words[1:], end-1, "--help")...).CombinedOutput()
			command := words[0]
			if len(words) > 1 && words[0] == "opmint" && words[1][0] != '-' {
				command += " " + words[1]
			}
			if err != nil || !strings.Contains(string(out), "\nUsage:\n  "+command) {
				t.Errorf("%s: %s: %v: %.500s", page, line, err, out)
			}
		}
	}
	if len(parsed) < 20 {
		t.Errorf("there are but %d command lines", len(parsed))
	}
}

// startDaemon starts a daemon with a TPM, until the end of the test, and returns
// its client and its state folder.
func startDaemon(t *testing.T) (*api.Client, string) {
	t.Helper()
	dir := t.TempDir()
	socket, state := filepath.Join(dir, "s"), filepath.Join(dir, "state")
	daemon := exec.CommandContext(t.Context(), filepath.Join(build(t), "opmintd"),
		"--tpm", swtpm.StartTest(t).Addr(), "--socket", socket, "--state", state)
	log, err := daemon.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := daemon.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = daemon.Wait() }) // it was killed
	for lines := bufio.NewScanner(log); lines.Scan(); {
		if strings.Contains(lines.Text(), "msg=started") {
			return &api.Client{Socket: socket}, state
		}
		t.Log(lines.Text())
	}
	t.Fatal("the daemon did not start")
	return nil, ""
}

var (
	metric     = regexp.MustCompile(`\bopmint_[a-z_]+`)
	stateFiles = regexp.MustCompile("(?s)\nIn the state folder:\n\n(.*?)\n\n")
	rowOfFile  = regexp.MustCompile("(?m)^\\| `([^`]+)` \\|")
)

// TestWhatADaemonShows compares the files of the state folder and the metrics of
// the pages with those of a daemon.
func TestWhatADaemonShows(t *testing.T) {
	client, state := startDaemon(t)
	var metrics strings.Builder
	if err := client.Relay(t.Context(), &metrics, "GET", "/metrics"); err != nil {
		t.Fatal(err)
	}
	all := pages(t)
	for page, text := range all {
		for _, name := range metric.FindAllString(text, -1) {
			if !strings.Contains(metrics.String(), "# TYPE "+name+" ") {
				t.Errorf("%s: there is no metric %s", page, name)
			}
		}
	}
	var told, there []string
	for _, m := range rowOfFile.FindAllStringSubmatch(stateFiles.FindString(all["docs/operating.md"]), -1) {
		told = append(told, m[1])
	}
	entries, err := os.ReadDir(state)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		there = append(there, entry.Name())
	}
	if slices.Sort(told); !slices.Equal(told, there) {
		t.Errorf("docs/operating.md has %q, and the state folder %q", told, there)
	}
}

// messages returns the code of the programs, in which a text that goes over
// several lines is one text.
func messages(t *testing.T) string {
	t.Helper()
	var code bytes.Buffer
	err := fs.WalkDir(os.DirFS("."), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		code.Write(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return regexp.MustCompile(`"\s*\+\s*"`).ReplaceAllString(code.String(), "")
}

var quoted = regexp.MustCompile("`([^`]+)`")

// TestSentences looks in the code for what the columns "… says" of tables quote.
func TestSentences(t *testing.T) {
	code, found := messages(t), map[string]bool{}
	for page, text := range pages(t) {
		says := -1
		for line := range strings.Lines(text) {
			cells := strings.Split(line, "|")
			if len(cells) < 3 {
				says = -1
			} else if says < 0 {
				says = slices.IndexFunc(cells, func(cell string) bool { return strings.HasSuffix(cell, " says ") })
			} else if says < len(cells) {
				for _, m := range quoted.FindAllStringSubmatch(cells[says], -1) {
					if found[m[1]] = true; !strings.Contains(code, m[1]) {
						t.Errorf("%s: nobody says %q", page, m[1])
					}
				}
			}
		}
	}
	if len(found) < 20 {
		t.Errorf("the pages quote but %q", slices.Sorted(maps.Keys(found)))
	}
}
