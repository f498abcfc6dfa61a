package main

import (
	"fmt"
	"io"
	"os"

	"github.com/opmint/opmint/api"
)

// fingerprint returns the fingerprint of the payload in a file, or of standard input
// for -.
func fingerprint(stdin io.Reader, path string) (api.Fingerprint, error) {
	if path == "-" {
		return api.FingerprintOf(stdin)
	}
	file, err := os.Open(path)
	if err != nil {
		return api.Fingerprint{}, fmt.Errorf("read the payload: %w", err)
	}
	defer file.Close()
	return api.FingerprintOf(file)
}
