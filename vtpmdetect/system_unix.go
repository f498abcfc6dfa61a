//go:build unix

package vtpmdetect

import (
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// deviceNumber returns the number of a device file, if info has one.
func deviceNumber(info fs.FileInfo) (major, minor uint32, ok bool) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0, false
	}
	number := uint64(stat.Rdev)
	return unix.Major(number), unix.Minor(number), true
}

// mapPage maps the beginning of f, to be read only.
func mapPage(f *os.File, length int) ([]byte, error) {
	return unix.Mmap(int(f.Fd()), 0, length, unix.PROT_READ, unix.MAP_SHARED)
}

// unmap fails for what is no mapping only.
func unmap(mapping []byte) { _ = unix.Munmap(mapping) }
