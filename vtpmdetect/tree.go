package vtpmdetect

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// Bounds of what is read from a tree.
const (
	maxFile    = 4 << 10  // bytes of a file; sysfs gives at most a page
	maxCPUInfo = 64 << 10 // bytes of /proc/cpuinfo, enough for its first CPU
	maxEntries = 4096     // entries of a folder
	maxLinks   = 40       // symbolic links on the way to a file, as in Linux
)

var (
	errLinks      = fmt.Errorf("more than %d symbolic links, or a loop of them", maxLinks)
	errTooLarge   = fmt.Errorf("more than %d bytes", maxFile)
	errEntries    = fmt.Errorf("more than %d entries", maxEntries)
	errNotRegular = errors.New("not a regular file")
)

// resolve returns the name of what name leads to, without symbolic links on
// the way. Absolute links lead into the tree, as in chroot.
func resolve(root fs.FS, name string) (string, error) {
	done, rest := ".", strings.Split(name, "/")
	for links := 0; len(rest) > 0; {
		part := rest[0]
		rest = rest[1:]
		if part == ".." {
			done = path.Dir(done)
			continue
		}
		next := path.Join(done, part)
		info, err := fs.Lstat(root, next)
		if err != nil {
			return "", err
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			done = next
			continue
		}
		if links++; links > maxLinks {
			return "", errLinks
		}
		target, err := fs.ReadLink(root, next)
		if err != nil {
			return "", err
		}
		if path.IsAbs(target) {
			done = "."
		}
		rest = append(strings.Split(strings.Trim(target, "/"), "/"), rest...)
	}
	return done, nil
}

func exists(root fs.FS, name string) bool {
	_, err := resolve(root, name)
	return err == nil
}

// readPrefix reads up to limit bytes. It opens regular files only: to open a
// FIFO can block, and to open a device can do anything.
func readPrefix(root fs.FS, name string, limit int64) ([]byte, error) {
	real, err := resolve(root, name)
	if err != nil {
		return nil, err
	}
	info, err := fs.Lstat(root, real)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errNotRegular
	}
	f, err := root.Open(real)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, limit))
}

func readFile(root fs.FS, name string) ([]byte, error) {
	data, err := readPrefix(root, name, maxFile+1)
	if err == nil && len(data) > maxFile {
		return nil, errTooLarge
	}
	return data, err
}

// list returns the sorted names in a folder.
func list(root fs.FS, name string) ([]string, error) {
	real, err := resolve(root, name)
	if err != nil {
		return nil, err
	}
	f, err := root.Open(real)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	dir, ok := f.(fs.ReadDirFile)
	if !ok {
		return nil, errors.New("not a folder")
	}
	entries, err := dir.ReadDir(maxEntries + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if len(entries) > maxEntries {
		return nil, errEntries
	}
	names := make([]string, len(entries))
	for i, entry := range entries {
		names[i] = entry.Name()
	}
	slices.Sort(names)
	return names, nil
}

// printable replaces each byte that is not printable ASCII by its \xNN.
func printable(s string) string {
	var b strings.Builder
	for i := range len(s) {
		if c := s[i]; c >= ' ' && c <= '~' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, `\x%02x`, c)
		}
	}
	return b.String()
}
