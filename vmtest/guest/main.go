// Command guest is the first program of the virtual machine of package vmtest: it mounts what a program expects of
// a Linux system and does tasks that the test outside asks for over the second serial line.
//
// Both directions are lines of JSON:
//
//	→ {"id": "ABC", "task": "system", "arguments": {}}
//	← {"id": "ABC", "result": {"release": "6.12.95+deb13-cloud-amd64", "vendor": "QEMU", "driver": "tpm_crb"}}
//	← {"id": "ABC", "error": "what went wrong"}
//	← {"id": "ABC", "output": "aDEt…"}     any number of these before the answer: what a program prints
//
// One task at a time. A line with the id "ready" is sent once, when the system is up.
// A task that needs further processes starts this program again with arguments.
//
// Where there is an archive beside it, it installs what is in there into the system that it finds on the disk, and makes
// way for that system's own first program, which starts this one again, as a service.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

func main() {
	run := boot
	switch {
	case len(os.Args) == 3 && os.Args[1] == claimer:
		run = func() error { return runClaimer(os.Args[2], os.Stdout) }
	case len(os.Args) == 2 && os.Args[1] == server:
		run = serveLine
	}
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "guest:", err)
		os.Exit(1) // of the first process: makes the kernel panic, and the machine go off
	}
}

// boot is what the first process does.
func boot() error {
	if err := mountAll(); err != nil {
		return err
	}
	if err := loadDiskDriver(); err != nil {
		return err
	}
	if _, err := os.Stat(archive); err == nil {
		return handOver()
	}
	// Where programs have their state.
	if err := mount(disk, diskKind, "/var/lib"); err != nil {
		return err
	}
	return serveLine()
}

// serveLine does what the test outside asks for.
func serveLine() error {
	line, err := openSerial("/dev/ttyS1")
	if err != nil {
		return err
	}
	return serve(line)
}

func mountAll() error {
	for _, m := range []struct{ kind, target string }{
		{"proc", "/proc"}, {"sysfs", "/sys"}, {"devtmpfs", "/dev"}, {"tmpfs", "/tmp"}, {"tmpfs", "/run"},
	} {
		if err := mount(m.kind, m.kind, m.target); err != nil {
			return err
		}
	}
	return nil
}

func mount(source, kind, target string) error {
	if err := os.MkdirAll(target, 0o755); err != nil {
		return err
	}
	if err := unix.Mount(source, target, kind, 0, ""); err != nil {
		return fmt.Errorf("mount %s: %w", target, err)
	}
	return nil
}

// loadDiskDriver lets the kernel see the disk.
func loadDiskDriver() error {
	module, err := os.Open("/virtio_blk.ko.xz")
	if err != nil {
		return err
	}
	defer module.Close()
	if err := unix.FinitModule(int(module.Fd()), "", unix.MODULE_INIT_COMPRESSED_FILE); err != nil {
		return fmt.Errorf("load %s: %w", module.Name(), err)
	}
	return nil
}

// openSerial opens a serial line that neither echoes nor changes any byte.
func openSerial(path string) (*os.File, error) {
	line, err := os.OpenFile(path, os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	settings := unix.Termios{Cflag: unix.CS8 | unix.CREAD | unix.CLOCAL | unix.B115200}
	settings.Cc[unix.VMIN] = 1
	if err := unix.IoctlSetTermios(int(line.Fd()), unix.TCSETS, &settings); err != nil {
		return nil, fmt.Errorf("set %s to raw bytes: %w", path, err)
	}
	return line, nil
}

type request struct {
	ID        string          `json:"id"`
	Task      string          `json:"task"`
	Arguments json.RawMessage `json:"arguments"`
}

type answer struct {
	ID     string `json:"id"`
	Output []byte `json:"output,omitempty"`
	Result any    `json:"result,omitempty"`
	Error  string `json:"error,omitempty"`
}

// output sends what is written to it while a task is done.
type output struct {
	id  string
	out *json.Encoder
}

func (o output) Write(p []byte) (int, error) {
	return len(p), o.out.Encode(answer{ID: o.id, Output: p})
}

// serve answers requests until the line breaks.
func serve(line io.ReadWriter) error {
	out := json.NewEncoder(line)
	if err := out.Encode(answer{ID: "ready"}); err != nil {
		return err
	}
	in := bufio.NewReader(line)
	for {
		text, err := in.ReadBytes('\n')
		if err != nil {
			return fmt.Errorf("read request: %w", err)
		}
		var r request
		if err := json.Unmarshal(text, &r); err != nil {
			return fmt.Errorf("request %q: %w", text, err)
		}
		if err := out.Encode(do(r, output{r.ID, out})); err != nil {
			return err
		}
	}
}

func do(r request, out io.Writer) answer {
	task, ok := tasks[r.Task]
	if !ok {
		return answer{ID: r.ID, Error: fmt.Sprintf("no task %q", r.Task)}
	}
	result, err := task(r.Arguments, out)
	if err != nil {
		return answer{ID: r.ID, Error: err.Error()}
	}
	return answer{ID: r.ID, Result: result}
}
