package main

import (
	"fmt"
	"os"
	"strings"
)

// writeTable replaces what stands in the file between the markers of table id.
func writeTable(file, id, text string) error {
	old, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	changed, err := replaceTable(string(old), id, text)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return os.WriteFile(file, []byte(changed), 0o644)
}

// replaceTable returns page with text between the markers of table id, which
// stand on lines of their own.
func replaceTable(page, id, text string) (string, error) {
	first, last := "<!-- bench:"+id+" -->\n", "<!-- /bench:"+id+" -->"
	before, rest, ok := strings.Cut(page, first)
	if !ok {
		return "", fmt.Errorf("no line %q", strings.TrimSpace(first))
	}
	_, after, ok := strings.Cut(rest, last)
	if !ok {
		return "", fmt.Errorf("no line %q after %q", last, strings.TrimSpace(first))
	}
	return before + first + "\n" + text + "\n" + last + after, nil
}
