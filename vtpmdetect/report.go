package vtpmdetect

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// MaxReport bounds a saved report, in bytes. The largest seen has 6 KiB.
const MaxReport = 1 << 20

// ErrNotEvidence: what was given as a report cannot be read as one. The error's
// text names the line or the field.
var ErrNotEvidence = errors.New("not evidence")

// A Report is what was seen of a machine, what it means, and what could not be
// seen. `opmint detect --json` prints it, and [ParseReport] reads it.
type Report struct {
	Evidence Evidence `json:"evidence"` // what was seen
	Verdict  Verdict  `json:"verdict"`  // what Judge says of it
	Gaps     []Gap    `json:"gaps"`     // what was not seen; an empty list, not null, if none are known
}

// Examine gathers the evidence of a machine and judges it.
func Examine(m Machine) Report {
	evidence, gaps := Gather(m)
	return Report{Evidence: evidence, Verdict: Judge(evidence), Gaps: append([]Gap{}, gaps...)}
}

// Doubt takes back that a TPM is physical which the kernel does not show as a device
// of this machine: behind a socket, or a device file of another kind, may be software
// that says what it likes, or a chip of another machine. It is for reports of the
// machine at hand; saved evidence may lack the device and be right.
func (r *Report) Doubt() {
	seen, v := r.Evidence.TPM, &r.Verdict
	if v.TPM != TPMPhysical || seen != nil && seen.Device != "" {
		return
	}
	v.TPM, v.Class = TPMUnknown, ClassV
	v.Reasons = append([]Reason{{
		Signal: "tpm.device", Says: string(TPMUnknown),
		Why: "the kernel does not show the TPM as a device of this machine, so what is behind its address cannot be told",
	}}, v.Reasons...)
}

// ParseReport reads a saved report: an object with the fields "evidence" and,
// if it likes, "gaps", or bare evidence. What else the object holds does not
// matter; its verdict is not read but judged afresh.
//
// Fields of the evidence that this version does not know are ignored, and
// returned as paths such as "host.smbios_vm_bit": the verdict may miss what
// they say. A value of the wrong type, a known name in another case, and a name
// that stands there twice is [ErrNotEvidence]: it was meant to be read and cannot be.
func ParseReport(data []byte) (r Report, ignored []string, err error) {
	if len(data) > MaxReport {
		return Report{}, nil, fmt.Errorf("%w: more than %d bytes", ErrNotEvidence, MaxReport)
	}
	if r, ignored, err = parseReport(data); err != nil {
		return Report{}, nil, fmt.Errorf("%w: %w", ErrNotEvidence, err)
	}
	r.Verdict = Judge(r.Evidence)
	return r, ignored, nil
}

func parseReport(data []byte) (r Report, ignored []string, err error) {
	fields, err := objectOf(data)
	if err == nil {
		err = once("", data)
	}
	if err != nil {
		return Report{}, nil, err
	}
	for name := range fields {
		if name != "evidence" && strings.EqualFold(name, "evidence") {
			return Report{}, nil, respelt(name, "evidence")
		}
	}
	evidence, gaps := fields["evidence"], fields["gaps"]
	if evidence == nil {
		evidence, gaps = data, nil
	}
	if ignored, err = decode("", evidence, &r.Evidence); err != nil {
		return Report{}, nil, err
	}
	if gaps != nil {
		if _, err := decode("gaps", gaps, &r.Gaps); err != nil {
			return Report{}, nil, err
		}
	}
	r.Gaps = append([]Gap{}, r.Gaps...)
	return r, ignored, nil
}

// objectOf reads a JSON object field by field.
func objectOf(data []byte) (map[string]json.RawMessage, error) {
	var fields map[string]json.RawMessage
	err := json.Unmarshal(data, &fields)
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &syntax):
		return nil, fmt.Errorf("line %d: %w", 1+bytes.Count(data[:syntax.Offset], []byte{'\n'}), err)
	case err != nil || fields == nil:
		return nil, errors.New("not a JSON object")
	}
	return fields, nil
}
