//go:build manual

package main

import (
	"fmt"
	"os"

	"github.com/opmint/opmint/api"
	"github.com/opmint/opmint/packaging/manual"
)

func main() {
	if err := manual.Run(os.Args[1:], newCommand(nil), api.ThisBuild().Version); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(exitError)
	}
}
