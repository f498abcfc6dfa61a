package main

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/opmint/opmint/tpm"
)

// provisioned is the result of provision, as JSON. Fields have the names and the
// form that they have in the API's answer to GET /v1/identity.
type provisioned struct {
	TPM         string     `json:"tpm"`
	NVIndex     string     `json:"nv_index"`
	StateFolder string     `json:"state_folder"`
	Found       foundIndex `json:"found"`
	Done        []string   `json:"done"` // provisionStep.name, in order

	Counter       uint64 `json:"counter"`
	Incarnation   string `json:"incarnation"`
	EKFingerprint string `json:"ek_fingerprint"`
	EKTemplate    string `json:"ek_template"`
}

// foundIndex is what stood at the index before.
type foundIndex struct {
	State       string `json:"state"` // tpm.State in words, with hyphens
	Incarnation string `json:"incarnation,omitempty"`
	Counter     uint64 `json:"counter,omitempty"` // 0: not known
}

// result returns what is known before the first step is done.
func (p *provisionPlan) result(ek tpm.EK) *provisioned {
	found := foundIndex{State: strings.ReplaceAll(p.found.State.String(), " ", "-"), Counter: p.found.Value}
	if p.found.State != tpm.Absent {
		found.Incarnation = fmt.Sprintf("%x", p.found.Incarnation)
	}
	return &provisioned{
		TPM: p.cfg.Device.String(), NVIndex: fmt.Sprintf("0x%08x", p.found.Index), StateFolder: p.cfg.StateDir,
		Found: found, Done: []string{},
		EKFingerprint: fmt.Sprintf("sha256:%x", ek.Fingerprint), EKTemplate: ek.Template,
	}
}

// print writes the result for people.
func (r *provisioned) print(w io.Writer) error {
	var out bytes.Buffer
	fmt.Fprintf(&out, "index        %s\ncounter      %d\nincarnation  %s\nek           %s\nstate        %s\n",
		r.NVIndex, r.Counter, r.Incarnation, r.EKFingerprint, r.StateFolder)
	if slices.Contains(r.Done, "index-deleted") {
		fmt.Fprint(&out, "The identity is a new one. Names minted before stay valid. Restart opmintd if it runs.\n")
	}
	_, err := w.Write(out.Bytes())
	return err
}
