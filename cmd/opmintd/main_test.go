package main

import (
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain makes the test binary the daemon when it is called opmintd, so that
// tests can run it as a process of its own and kill it.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"opmintd": main})
}
