// Command fresh reads the machine's generators and prints whether the CPU's was
// among them. The tests run it on emulated CPUs.
package main

import (
	"fmt"
	"os"

	"github.com/opmint/opmint/keygen"
)

func main() {
	r := keygen.NewFreshRandom()
	var a, b [32]byte
	for _, p := range []*[32]byte{&a, &b} {
		if _, err := r.Read(p[:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	fmt.Println(r.Fresh(), a != b)
}
