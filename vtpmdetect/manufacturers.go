package vtpmdetect

import (
	_ "embed"
	"encoding/json"
	"sync"
)

// manufacturersJSON lists the values of TPM_PT_MANUFACTURER: those of the
// TCG's TPM Vendor ID Registry, and those seen elsewhere.
//
//go:embed manufacturers.json
var manufacturersJSON []byte

// manufacturer is one entry of manufacturers.json.
type manufacturer struct {
	ID           Word   `json:"id"`
	Organisation string `json:"organisation"`
	Class        string `json:"class"` // discrete, firmware, virtual, ambiguous
}

// manufacturers maps the ids to their entries. Were the data unreadable, no id
// would be known, and no TPM physical.
var manufacturers = sync.OnceValue(func() map[Word]manufacturer {
	var list struct {
		Manufacturers []manufacturer `json:"manufacturers"`
	}
	if json.Unmarshal(manufacturersJSON, &list) != nil {
		return nil
	}
	byID := make(map[Word]manufacturer, len(list.Manufacturers))
	for _, m := range list.Manufacturers {
		byID[m.ID] = m
	}
	return byID
})

// maker says what a manufacturer id and a vendor string say together.
type maker int

const (
	makerUnknown   maker = iota // not listed, or ambiguous
	makerNone                   // no manufacturer observed
	makerSoftware               // makes software TPMs
	makerChip                   // makes chips, or firmware TPMs
	makerMicrosoft              // Microsoft, and which of its TPMs is not known
)

// idMicrosoft is "MSFT", which Hyper-V, Azure, OP-TEE, Windows IoT, reference
// code and a processor's Pluton all report: the vendor string tells them apart.
const idMicrosoft Word = 0x4d534654

// microsoftTPMs holds the vendor strings of Microsoft that tell something.
var microsoftTPMs = map[string]maker{
	"Pluton.TPM.A":     makerChip,
	"IoT Software TPM": makerSoftware, // Hyper-V, Azure, Windows IoT
	"xCG fTPM":         makerSoftware, // the reference implementation
}

// makerOf compares the 32-bit id, since its text is padded with NUL by some
// and with a space by others, who differ.
func makerOf(t TPM) maker {
	if t.Manufacturer == 0 {
		return makerNone
	}
	if t.Manufacturer == idMicrosoft {
		if m, ok := microsoftTPMs[vendorString(t)]; ok {
			return m
		}
		return makerMicrosoft
	}
	switch manufacturers()[t.Manufacturer].Class {
	case "virtual":
		return makerSoftware
	case "discrete", "firmware":
		return makerChip
	}
	return makerUnknown
}
