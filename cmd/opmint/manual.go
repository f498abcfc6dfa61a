//go:build manual

package main

import (
	"fmt"
	"os"

	"github.com/opmint/opmint/api"
	"github.com/opmint/opmint/packaging/manual"
)

func main() {
	root := newRootCommand()
	refuseMisuse(root)
	if err := manual.Run(os.Args[1:], root, api.ThisBuild().Version); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(exitError)
	}
}
