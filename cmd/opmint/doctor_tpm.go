package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"strings"
	"syscall"
	"time"

	"github.com/opmint/opmint/tpm"
	"github.com/opmint/opmint/vtpmdetect"
)

// noTPM is the --tpm that does without one, as opmintd's.
const noTPM = "none"

// tpmTime bounds each look at the TPM, which another program may have.
const tpmTime = 30 * time.Second

// tpmFacts is what the TPM says. Each question has a connection of its own, which is
// over in no time: a daemon that claims gets in between.
type tpmFacts struct {
	address  string                // as it was found
	openErr  error                 // why there is no device
	opened   *vtpmdetect.OpenedTPM // nil if there is no device
	indexes  []uint32              // all of them
	counter  tpm.Status
	indexErr error // why counter is not known
	nvIndex  nvIndex

	node       *node   // who may use it; nil if that cannot be seen
	daemonUser *person // as whom the unit has the daemon run; nil if not known here
}

func (t *tpmFacts) unwanted() bool { return t.address == noTPM }

// err is why the TPM does not answer.
func (t *tpmFacts) err() error {
	if t.opened != nil {
		return t.opened.Err
	}
	return t.openErr
}

// answers reports whether the TPM works.
func (t *tpmFacts) answers() bool {
	return t.opened != nil && t.opened.Err == nil && !t.opened.Properties.FailureMode
}

// silent is the finding of checks that need a TPM that answers, where none does.
func (t *tpmFacts) silent() finding {
	if t.unwanted() || errors.Is(t.openErr, tpm.ErrNoTPM) {
		return notChecked("no TPM")
	}
	return notChecked("the TPM does not answer")
}

// examineTPM asks the TPM. The error is that of an address that is none.
func examineTPM(ctx context.Context, flags *tpmFlags) (tpmFacts, error) {
	t := tpmFacts{address: flags.address, nvIndex: flags.index}
	if t.unwanted() {
		return t, nil
	}
	device, err := tpm.Open(flags.address)
	if errors.Is(err, tpm.ErrAddress) {
		return t, err
	}
	if device != nil {
		defer device.Close()
		t.address = device.String()
	}
	if path := strings.TrimPrefix(t.address, "unix:"); strings.Contains(path, "/") {
		t.node, _ = lookAtNode(path) // nil says it
	}
	if err != nil {
		t.openErr = err
		return t, nil
	}
	asking, cancel := context.WithTimeout(ctx, tpmTime)
	t.opened = vtpmdetect.Ask(asking, device)
	cancel()
	if t.answers() {
		t.askIndex(ctx, device, string(flags.state))
	}
	return t, nil
}

func (t *tpmFacts) askIndex(ctx context.Context, device *tpm.Device, state string) {
	ctx, cancel := context.WithTimeout(ctx, tpmTime)
	defer cancel()
	counter, err := tpm.NewCounter(tpm.CounterConfig{Device: device, Index: uint32(t.nvIndex), StateDir: state})
	if err == nil {
		t.counter, err = counter.Status(ctx)
	}
	t.indexErr = err
	t.indexes, _ = device.NVIndexes(ctx) // only proposed
}

// checkDevice judges whether there is a TPM 2.0 that answers.
func checkDevice(f *facts) finding {
	t, err := &f.tpm, f.tpm.err()
	switch {
	case t.unwanted():
		return good("no TPM is wanted: names are of class j")
	case errors.Is(err, tpm.ErrNoTPM):
		return f.noTPM()
	case err != nil:
		return f.noAnswer(err)
	case t.opened.Properties.FailureMode:
		return failure(f.asRoot()+"systemctl poweroff",
			"%s is in failure mode and does nothing: switch the machine off, and on again", t.address)
	}
	p := t.opened.Properties
	return good("%s: a TPM 2.0 of maker %s, %q, firmware %x.%x, specification %d.%02d", t.address, maker(p.Manufacturer),
		p.VendorString, p.Firmware[0], p.Firmware[1], p.SpecRevision/100, p.SpecRevision%100)
}

// maker writes a maker's id as the four letters that it is made of.
func maker(id uint32) string {
	return strings.TrimRight(fmt.Sprintf("%c%c%c%c", id>>24, id>>16&0xff, id>>8&0xff, id&0xff), "\x00 ")
}

func (f *facts) noTPM() finding {
	if container := f.class.report.Evidence.Host.Container; container != "" {
		return warning("docker run --device /dev/tpmrm0 IMAGE",
			"this container shows no TPM, so names can only be of class j: give it the device, or say --tpm none")
	}
	return warning(f.asRoot()+"systemctl reboot --firmware-setup",
		"this machine shows no TPM, so names can only be of class j: if it has one, switch it on in the firmware's "+
			"setup; else say --tpm none")
}

// noAnswer says what to do about a TPM that is to be there and does not answer.
func (f *facts) noAnswer(err error) finding {
	address := f.tpm.address
	path, unix := strings.CutPrefix(address, "unix:")
	target, tcp := strings.CutPrefix(address, "tcp:")
	gone := errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED)
	switch {
	case errors.Is(err, fs.ErrPermission):
		return notChecked("%s is closed to you: see permissions", address)
	case errors.Is(err, tpm.ErrBusy) || errors.Is(err, syscall.EBUSY):
		return warning("opmint doctor"+f.typed.daemon, "%s is in use, by a daemon or another program: try again", address)
	case errors.Is(err, tpm.ErrTPM1):
		return failure(f.asRoot()+"systemctl reboot --firmware-setup",
			"%s is a TPM 1.2, and opmint needs a TPM 2.0: some can be set to it in the firmware's setup; else say --tpm none",
			address)
	case errors.Is(err, tpm.ErrNotStarted):
		return failure(f.tpm2("tpm2_startup --clear"),
			"%s was not started, which the machine's firmware should have done", address)
	case gone && unix:
		return failure(softwareTPM("unixio,path="+quote(path)),
			"nobody answers at %s: start the software TPM whose state is in the folder DIR", address)
	case gone && tcp:
		host, port, _ := net.SplitHostPort(target) // tpm.Open has done it, too
		return failure(softwareTPM("tcp,bindaddr="+quote(host)+",port="+quote(port)),
			"nobody answers at %s: start the software TPM whose state is in the folder DIR", address)
	case gone || address == tpm.Auto:
		return failure(f.asRoot()+"modprobe -a tpm_crb tpm_tis", "%v", err)
	case unix || tcp:
		return failure("opmint doctor"+f.typed.daemon+" --tpm ADDRESS",
			"what is at %s is no TPM 2.0 (%v): say the address of one", address, err)
	}
	return failure(f.asRoot()+"systemctl poweroff",
		"%s does not answer as it should (%v): switch the machine off, and on again", address, err)
}

// softwareTPM starts swtpm, which serves one connection after the other.
func softwareTPM(server string) string {
	return "swtpm socket --tpm2 --tpmstate dir=DIR --server type=" + server + " --flags not-need-init,startup-clear"
}

// checkLockout judges whether the TPM refuses authorizations, or writes.
func checkLockout(f *facts) finding {
	if !f.tpm.answers() {
		return f.tpm.silent()
	}
	p := f.tpm.opened.Properties
	clear := "tpm2_dictionarylockout --clear-lockout"
	if p.LockoutAuthSet {
		clear += " --auth file:-"
	}
	switch {
	case p.WriteRecovery > 0:
		return warning("opmint doctor"+f.typed.daemon,
			"somebody writes too much to the TPM: it takes the next write in %d ms, and whoever claims waits", p.WriteRecovery)
	case p.InLockout:
		return warning(f.tpm2(clear), "after %d wrong authorizations the TPM takes none that it protects; "+
			"opmint's counter goes on, other programs may not", p.LockoutCounter)
	}
	return good("%d of %d wrong authorizations; opmint's counter does not depend on it", p.LockoutCounter, p.MaxAuthFail)
}

// checkNV judges whether there is room for the counter.
func checkNV(f *facts) finding {
	if !f.tpm.answers() {
		return f.tpm.silent()
	}
	p := f.tpm.opened.Properties
	room := fmt.Sprintf("counters in the TPM: %d, with room for %d more", p.Counters, p.CountersAvail)
	if p.CountersMax > 0 {
		room += fmt.Sprintf(", %d at most", p.CountersMax)
	}
	if p.CountersAvail == 0 && f.tpm.indexErr == nil && f.tpm.counter.State == tpm.Absent {
		return failure(f.tpm2("tpm2_nvundefine INDEX"),
			"%s, and opmint's is not among them: remove an index that nobody needs, of %s", room, f.tpm.owned())
	}
	return good("%s", room)
}

// maxListed bounds how many indexes are proposed.
const maxListed = 8

// owned lists the indexes that the owner may remove.
func (t *tpmFacts) owned() string {
	var list []string
	for _, index := range t.indexes {
		if index < tpm.FirstIndex || index > tpm.LastIndex {
			continue
		}
		if len(list) == maxListed {
			list = append(list, "…")
			break
		}
		list = append(list, fmt.Sprintf("0x%08x", index))
	}
	return strings.Join(list, " ")
}
