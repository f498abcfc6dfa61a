package main

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

const (
	disk     = "/dev/vda"
	diskKind = "ext4"
	archive  = "/system.tar" // what a system on the disk lacks
	server   = "serve"       // the argument with which that system starts this program
)

// handOver makes the system on the disk the machine's. Its first program takes the place of this one.
func handOver() error {
	const root = "/system"
	if err := mount(disk, diskKind, root); err != nil {
		return err
	}
	if err := install(archive, root); err != nil {
		return fmt.Errorf("install %s: %w", archive, err)
	}
	// What pivot_root(2) says of the kernel's first file system, which cannot be unmounted.
	if err := errors.Join(unix.Chdir(root), unix.Mount(".", "/", "", unix.MS_MOVE, ""), unix.Chroot(".")); err != nil {
		return fmt.Errorf("change the root: %w", err)
	}
	return fmt.Errorf("become the system's first program: %w", unix.Exec("/sbin/init", []string{"init"}, nil))
}

// install unpacks an archive of files and symbolic links. Folders that are missing are made.
func install(archive, root string) error {
	file, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer file.Close()
	for entries := tar.NewReader(file); ; {
		entry, err := entries.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = unpack(filepath.Join(root, entry.Name), entry, entries)
		}
		if err != nil {
			return err
		}
	}
}

func unpack(path string, entry *tar.Header, content io.Reader) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if entry.Typeflag == tar.TypeSymlink {
		return os.Symlink(entry.Linkname, path)
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, entry.FileInfo().Mode())
	if err != nil {
		return err
	}
	_, err = io.Copy(file, content)
	return errors.Join(err, file.Close())
}
