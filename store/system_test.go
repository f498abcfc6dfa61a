package store

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

const (
	mountsEnv = "OPMINT_STORE_TEST_MOUNTS" // set in a process that may mount
	writerEnv = "OPMINT_STORE_TEST_WRITER" // path of a store to write to until killed
)

func TestMain(m *testing.M) {
	if path := os.Getenv(writerEnv); path != "" {
		if err := writeForEver(path); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// inMountNamespace reports whether this process may mount what it likes. If
// not, it has run the test again in one that may.
func inMountNamespace(t *testing.T) bool {
	t.Helper()
	if os.Getenv(mountsEnv) != "" {
		if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
			t.Fatal(err)
		}
		return true
	}
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), mountsEnv+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	if os.Geteuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("in a mount namespace: %v\n%s", err, out)
	}
	return false
}

// mount mounts a small file system in memory.
func mount(t *testing.T, folder, options string) {
	t.Helper()
	if err := syscall.Mount("store", folder, "tmpfs", 0, "mode=700,"+options); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Unmount(folder, syscall.MNT_DETACH) })
}

func remount(t *testing.T, folder, options string, flags uintptr) {
	t.Helper()
	if err := syscall.Mount("store", folder, "tmpfs", syscall.MS_REMOUNT|flags, options); err != nil {
		t.Fatal(err)
	}
}

// TestFullDisk: a Commit that does not fit fails for certain; the store goes
// on, and takes it once there is room.
func TestFullDisk(t *testing.T) {
	if !inMountNamespace(t) {
		return
	}
	for name, sizes := range map[string][2]string{"journal.db": {"size=256k", "size=1m"}, "ledger.db": {"size=3m", "size=8m"}} {
		t.Run(name, func(t *testing.T) { fullDisk(t, name, sizes[0], sizes[1]) })
	}
}

func fullDisk(t *testing.T, name, small, large string) {
	folder := t.TempDir()
	mount(t, folder, small)
	path := filepath.Join(folder, name)
	s := openTest(t, path)
	value := make([]byte, 10000)
	written, full := 0, error(nil)
	commit := func() error {
		return s.Commit(t.Context(), nil, []Write{{Key: fmt.Appendf(nil, "%03d", written), Value: value}})
	}
	for full == nil {
		if full = commit(); full == nil {
			written++
		}
	}
	if !errors.Is(full, syscall.ENOSPC) || errors.Is(full, ErrOutcomeUnknown) {
		t.Errorf("Commit: %v, want ENOSPC", full)
	}
	if err := commit(); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("Commit again: %v, want ENOSPC", err)
	}
	if records, err := s.Scan(t.Context(), nil, nil, MaxScan); err != nil || len(records) != written {
		t.Errorf("%d records, %v; want %d", len(records), err, written)
	}
	remount(t, folder, large, 0)
	if err := commit(); err != nil {
		t.Errorf("Commit with room: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	records, err := openTest(t, path).Scan(t.Context(), nil, nil, MaxScan)
	if err != nil || len(records) != written+1 {
		t.Errorf("%d records after reopening, %v; want %d", len(records), err, written+1)
	}
}

// TestNoRoomToBegin: what could not be made is not half there.
func TestNoRoomToBegin(t *testing.T) {
	if !inMountNamespace(t) {
		return
	}
	folder := t.TempDir()
	mount(t, folder, "size=12k")
	path := filepath.Join(folder, "journal.db")
	openErr(t, path, syscall.ENOSPC)
	if entries, err := os.ReadDir(folder); len(entries) != 0 || err != nil {
		t.Errorf("left behind: %v, %v", entries, err)
	}
	remount(t, folder, "size=1m", 0)
	openErr(t, path, nil)
}

func TestReadOnly(t *testing.T) {
	if !inMountNamespace(t) {
		return
	}
	folder := t.TempDir()
	mount(t, folder, "size=1m")
	path := filepath.Join(folder, "journal.db")
	openTest(t, path).Close()
	remount(t, folder, "", syscall.MS_RDONLY)
	openErr(t, path, syscall.EROFS)
	openErr(t, filepath.Join(folder, "other.db"), syscall.EROFS)
	openErr(t, filepath.Join(folder, "folder", "other.db"), syscall.EROFS)
}

// writeForEver commits numbers, from several goroutines, and prints those that
// are durable.
func writeForEver(path string) error {
	s, err := Open(context.Background(), path, Options{Kind: kindOf(path)})
	if err != nil {
		return err
	}
	fmt.Println("open")
	failed := make(chan error)
	for i := range 8 {
		go func() {
			for n := 0; ; n++ {
				key := fmt.Appendf(nil, "%d-%d-%d", os.Getpid(), i, n)
				if err := s.Commit(context.Background(), []Check{{Key: key}}, []Write{{Key: key, Value: key}}); err != nil {
					failed <- err
				}
				fmt.Println(string(key))
			}
		}()
	}
	return <-failed
}

// TestKill kills a process that writes, again and again. What it said is
// durable must be there, and meanwhile nobody else gets the file.
func TestKill(t *testing.T) {
	for _, name := range []string{"journal.db", "ledger.db"} {
		t.Run(name, func(t *testing.T) { kill(t, filepath.Join(t.TempDir(), name)) })
	}
}

func kill(t *testing.T, path string) {
	for round := range 10 {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), writerEnv+"="+path)
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		var durable []string
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			switch durable = append(durable, lines.Text()); len(durable) {
			case 1:
				ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
				if _, err := Open(ctx, path, Options{Kind: kindOf(path)}); !errors.Is(err, ErrInUse) {
					t.Errorf("Open: %v, want ErrInUse", err)
				}
				cancel()
			case 2 + 17*round:
				cmd.Process.Kill()
			}
		}
		if err := cmd.Wait(); err == nil {
			t.Error("the writer ended")
		}
		s := openTest(t, path)
		for _, key := range durable[1:] {
			if value, err := s.Get(t.Context(), []byte(key)); err != nil || string(value) != key {
				t.Errorf("round %d: Get(%s) = %q, %v", round, key, value, err)
			}
		}
		s.Close()
	}
}
