//go:build manual

package main

import (
	"fmt"
	"os"

	"github.com/opmint/opmint/packaging/manual"
	"github.com/opmint/opmint/release"
)

func main() {
	root := newRootCommand()
	refuseMisuse(root)
	if err := manual.Run(os.Args[1:], root, release.This().Version); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(exitError)
	}
}
