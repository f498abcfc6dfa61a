package main

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// reseed has the kernel's generator take a new seed. It waits the longer until the next the longer the machine is up,
// from a second to a minute, and meanwhile its state comes back with a memory snapshot.
func reseed(struct{}) (struct{}, error) {
	const reseedCRNG = 0x5207 // RNDRESEEDCRNG of linux/random.h
	device, err := os.Open("/dev/urandom")
	if err != nil {
		return struct{}{}, err
	}
	defer device.Close()
	if err := unix.IoctlSetInt(int(device.Fd()), reseedCRNG, 0); err != nil {
		return struct{}{}, fmt.Errorf("reseed %s: %w", device.Name(), err)
	}
	return struct{}{}, nil
}

// random returns what the kernel's generator gives next.
func random(struct{}) ([]byte, error) {
	p := make([]byte, 16)
	if _, err := unix.Getrandom(p, 0); err != nil {
		return nil, fmt.Errorf("getrandom: %w", err)
	}
	return p, nil
}
