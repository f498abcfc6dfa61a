package examples_test

import (
	"os"
	"strings"
	"testing"
)

// TestReadmeShowsTheExamples: each stands there as it is, after its marker.
func TestReadmeShowsTheExamples(t *testing.T) {
	page, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	for file, language := range map[string]string{
		"curl/mint.sh": "sh", "shell/name-of.sh": "sh", "node/mint.js": "js", "python/opmint.py": "python",
	} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		block := "<!-- examples/" + file + " -->\n```" + language + "\n" + string(text) + "```\n"
		if !strings.Contains(string(page), block) {
			t.Errorf("the README does not have\n%s", block)
		}
	}
}
