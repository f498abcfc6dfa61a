package vtpmdetect

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"

	"github.com/opmint/opmint/tpm"
)

// Machine is what Gather looks at.
type Machine struct {
	// Root is the machine's file tree from "/". To follow the links of sysfs
	// it must implement [fs.ReadLinkFS], as os.DirFS does.
	Root fs.FS
	// CPUID is nil where the CPU has no such instruction.
	CPUID CPUID
	// TPM is the TPM that was opened; nil if none was. Then Gather describes
	// the first TPM 2.0 that the kernel shows, as far as it can.
	TPM *OpenedTPM
}

// OpenedTPM is what whoever opened a TPM learnt from it; [Ask] makes one.
type OpenedTPM struct {
	// Address is a device file, unix:PATH or tcp:HOST:PORT; tpm.Auto if the
	// machine's own TPM could not even be named.
	Address         string
	Properties      *tpm.Properties // nil if the TPM did not tell them
	Err             error           // why Properties is nil
	EKCertificates  [][]byte        // as tpm.Device.EKCertificates gives them
	CertificatesErr error           // why they could not be read
}

// Ask learns from a TPM what [Gather] wants to know of it. It changes nothing
// in the TPM, makes no key and needs no authorization. A TPM that does not
// answer is an observation, and no error.
func Ask(ctx context.Context, d *tpm.Device) *OpenedTPM {
	o := &OpenedTPM{Address: d.String()}
	properties, err := d.Properties(ctx)
	if err != nil {
		o.Err = err
		return o
	}
	o.Properties = &properties
	o.EKCertificates, o.CertificatesErr = d.EKCertificates(ctx)
	return o
}

// LocalMachine is the machine this program runs on, without a TPM.
func LocalMachine() Machine { return Machine{Root: os.DirFS("/"), CPUID: hardwareCPUID} }

// NoSuchFile is the Why of gaps that are normal: no machine has all the files
// that Gather looks for.
const NoSuchFile = "no such file"

// Gap is something that Gather did not learn.
type Gap struct {
	Signal string `json:"signal"` // the field of the evidence that lacks it
	Path   string `json:"path"`   // where it was looked for
	Why    string `json:"why"`    // NoSuchFile, "permission denied" and the like
	Root   bool   `json:"root"`   // permission was refused: root may learn it
}

// Gather reads what a machine shows, without writing anything. What it could
// not read is absent from the evidence and listed in the gaps: many are
// normal, since a machine that is no Xen guest has no files of Xen.
//
// Without m.TPM the evidence says that there is no TPM only if the kernel's
// list of them could be read and is empty, no device file of one exists, and
// the firmware announces none.
func Gather(m Machine) (Evidence, []Gap) {
	g := &gatherer{root: m.Root}
	e := Evidence{TPM: g.tpm(m.TPM), Host: g.host()}
	g.cpu(m.CPUID, &e.Host)
	return e, g.gaps
}

// gatherer reads a tree and keeps account of what it could not read.
type gatherer struct {
	root fs.FS
	gaps []Gap
}

func (g *gatherer) gap(signal, where, why string) {
	g.gaps = append(g.gaps, Gap{Signal: signal, Path: where, Why: why})
}

func (g *gatherer) failed(signal, where string, err error) {
	gap := Gap{Signal: signal, Path: where, Why: err.Error(), Root: errors.Is(err, fs.ErrPermission)}
	var inner *fs.PathError
	switch {
	case gap.Root:
		gap.Why = "permission denied"
	case errors.Is(err, fs.ErrNotExist):
		gap.Why = NoSuchFile
	case errors.As(err, &inner):
		gap.Why = inner.Err.Error()
	}
	g.gaps = append(g.gaps, gap)
}

// read reads a small file of the tree. If it cannot, that is a gap.
func (g *gatherer) read(signal, name string) (content string, ok bool) {
	data, err := readFile(g.root, name)
	if err != nil {
		g.failed(signal, "/"+name, err)
		return "", false
	}
	return strings.TrimSpace(string(data)), true
}

// text reads a small file as one line that can be printed.
func (g *gatherer) text(signal, name string) string {
	content, _ := g.read(signal, name)
	return printable(content)
}
