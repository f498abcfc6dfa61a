package examples_test

import (
	"os"
	"strings"
	"testing"
)

// TestPagesShowTheExamples: each stands there as it is, after its marker.
func TestPagesShowTheExamples(t *testing.T) {
	const readme, naming = "../README.md", "../docs/naming.md"
	for _, shown := range []struct{ page, file, language string }{
		{readme, "curl/mint.sh", "sh"}, {readme, "shell/name-of.sh", "sh"},
		{readme, "node/mint.js", "js"}, {readme, "python/opmint.py", "python"},
		{naming, "payment/pay.sh", "sh"}, {naming, "payment/refund.sh", "sh"},
		{naming, "saga/book.sh", "sh"}, {naming, "setpoint/main.go", "go"},
	} {
		page, err := os.ReadFile(shown.page)
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(shown.file)
		if err != nil {
			t.Fatal(err)
		}
		block := "<!-- examples/" + shown.file + " -->\n```" + shown.language + "\n" + string(text) + "```\n"
		if !strings.Contains(string(page), block) {
			t.Errorf("%s does not have\n%s", shown.page, block)
		}
	}
}
