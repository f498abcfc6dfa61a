package main

import (
	"encoding/binary"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// openings counts how often a file is opened.
type openings struct{ inotify int }

// watchOpenings begins to count. It asks for closings too, since the kernel makes one event of equal ones in a row.
func watchOpenings(path string) (openings, error) {
	fd, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	if err != nil {
		return openings{}, fmt.Errorf("inotify: %w", err)
	}
	if _, err := unix.InotifyAddWatch(fd, path, unix.IN_OPEN|unix.IN_CLOSE); err != nil {
		unix.Close(fd)
		return openings{}, fmt.Errorf("watch %s: %w", path, err)
	}
	return openings{fd}, nil
}

// count ends the counting. The kernel keeps 16,384 events until then.
func (o openings) count() (int, error) {
	defer unix.Close(o.inotify)
	var events [4096]byte
	opened := 0
	for {
		n, err := unix.Read(o.inotify, events[:])
		if errors.Is(err, unix.EAGAIN) {
			return opened, nil
		}
		if err != nil {
			return 0, fmt.Errorf("read inotify events: %w", err)
		}
		for event := events[:n]; len(event) > 0; event = event[unix.SizeofInotifyEvent:] {
			mask := binary.LittleEndian.Uint32(event[4:])
			if mask&unix.IN_Q_OVERFLOW != 0 {
				return 0, errors.New("more inotify events than the kernel keeps")
			}
			if mask&unix.IN_OPEN != 0 {
				opened++
			}
		}
	}
}
