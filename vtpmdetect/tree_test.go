package vtpmdetect

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"testing/fstest"

	"github.com/opmint/opmint/tpm"
	"golang.org/x/sys/unix"
	"golang.org/x/tools/txtar"
)

// A tree is a machine as a txtar archive. The names of its parts say what they
// are, and `\0` in the content is a NUL:
//
//	-- name --            a file
//	-- name/ --           a folder
//	-- name -> target --  a symbolic link
//	-- name = 10:224 --   a character device
//	-- name ! --          a file, or a folder with /, that may not be read
//	-- :cpuid --          lines of leaf: eax ebx ecx edx, or leaf: eax 'text'
//	-- :tpm --            the opened TPM, as JSON
//	-- :want --           what Gather and Judge must say, as JSON
type tree struct {
	machine Machine
	want    []byte
}

func parseTree(data []byte) (tree, error) {
	root := treeFS{MapFS: fstest.MapFS{}, denied: make(map[string]bool)}
	t := tree{machine: Machine{Root: root}}
	for _, part := range txtar.Parse(data).Files {
		content := bytes.ReplaceAll(part.Data, []byte(`\0`), []byte{0})
		var err error
		switch part.Name {
		case ":cpuid":
			t.machine.CPUID, err = parseCPUID(content)
		case ":tpm":
			t.machine.TPM, err = parseOpened(content)
		case ":want":
			t.want = content
		default:
			err = root.add(part.Name, content)
		}
		if err != nil {
			return tree{}, fmt.Errorf("%s: %w", part.Name, err)
		}
	}
	return t, nil
}

// treeFS refuses to open some files, as a kernel would.
type treeFS struct {
	fstest.MapFS
	denied map[string]bool
}

func (t treeFS) Open(name string) (fs.File, error) {
	if t.denied[name] {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	}
	return t.MapFS.Open(name)
}

func (t treeFS) add(part string, content []byte) error {
	name, denied := strings.CutSuffix(part, " !")
	file := &fstest.MapFile{Data: content, Mode: 0o444}
	if link, target, ok := strings.Cut(name, " -> "); ok {
		name, file.Data, file.Mode = link, []byte(target), fs.ModeSymlink|0o777
	} else if device, number, ok := strings.Cut(name, " = "); ok {
		var major, minor uint32
		if _, err := fmt.Sscanf(number, "%d:%d", &major, &minor); err != nil {
			return err
		}
		name, file.Mode = device, fs.ModeDevice|fs.ModeCharDevice|0o660
		file.Sys = &syscall.Stat_t{Rdev: unix.Mkdev(major, minor)}
	} else if folder, ok := strings.CutSuffix(name, "/"); ok {
		name, file.Mode = folder, fs.ModeDir|0o555
	}
	if !fs.ValidPath(name) || name == "." {
		return fs.ErrInvalid
	}
	t.MapFS[name] = file
	if denied {
		t.denied[name] = true
	}
	return nil
}

func parseCPUID(content []byte) (CPUID, error) {
	leaves := make(map[uint32][4]uint32)
	for lines := bufio.NewScanner(bytes.NewReader(content)); lines.Scan(); {
		var leaf uint32
		var r [4]uint32
		head, text, quoted := strings.Cut(lines.Text(), " '")
		if quoted {
			var vendor [12]byte
			copy(vendor[:], strings.TrimSuffix(text, "'"))
			for i := range 3 {
				r[i+1] = binary.LittleEndian.Uint32(vendor[4*i:])
			}
			if _, err := fmt.Sscanf(head, "%x: %x", &leaf, &r[0]); err != nil {
				return nil, err
			}
		} else if _, err := fmt.Sscanf(head, "%x: %x %x %x %x", &leaf, &r[0], &r[1], &r[2], &r[3]); err != nil {
			return nil, err
		}
		leaves[leaf] = r
	}
	return func(leaf, _ uint32) (eax, ebx, ecx, edx uint32) {
		r := leaves[leaf]
		return r[0], r[1], r[2], r[3]
	}, nil
}

func parseOpened(content []byte) (*OpenedTPM, error) {
	var in struct {
		Address     string `json:"address"`
		Properties  *TPM   `json:"properties"`
		Error       string `json:"error"`
		Certificate []byte `json:"certificate"`
	}
	if err := json.Unmarshal(content, &in); err != nil {
		return nil, err
	}
	o := &OpenedTPM{Address: in.Address}
	if in.Certificate != nil {
		o.EKCertificates = [][]byte{in.Certificate}
	}
	switch in.Error {
	case "":
	case "permission":
		o.Err = fmt.Errorf("open the TPM: %w", &fs.PathError{Op: "open", Path: in.Address, Err: fs.ErrPermission})
	default:
		o.Err = errors.New(in.Error)
	}
	if p := in.Properties; p != nil {
		o.Properties = &tpm.Properties{
			Manufacturer: uint32(p.Manufacturer), SpecRevision: p.SpecRevision, ClockUpdate: uint32(p.ClockUpdate),
			FailureMode: isTrue(p.FailureMode),
		}
		if p.VendorString != nil {
			o.Properties.VendorString = *p.VendorString
		}
		for i := range min(2, len(p.Firmware)) {
			o.Properties.Firmware[i] = uint32(p.Firmware[i])
		}
	}
	return o, nil
}
