package journal

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/opmint/opmint/keygen"
	"github.com/opmint/opmint/store"
)

const (
	hex32 = "ff785b5b91c7b8a2b76ebaee24fac603e01ee01e1c411744247a7ea112a6a5f2"
	hex16 = "ff785b5b91c7b8a2b76ebaee24fac603"
)

var (
	// Identities as NewIdentity makes them of hex32 twice and of nothing, each
	// with hex16.
	identityOfTPM   = keygen.NewIdentity([32]byte(unhex(hex32)), [32]byte(unhex(hex32)), [16]byte(unhex(hex16))).String()
	identityWithout = keygen.NewIdentity([32]byte{}, [32]byte{}, [16]byte(unhex(hex16))).String()
)

func unhex(text string) []byte {
	value := make([]byte, len(text)/2)
	if err := readHex(text, value); err != nil {
		panic(err)
	}
	return value
}

// kinds make an empty record of each kind.
var kinds = map[string]func() record{
	"head":     func() record { return new(head) },
	"counter":  func() record { return new(counterRecord) },
	"epoch":    func() record { return new(epochRecord) },
	"slot":     func() record { return new(slotRecord) },
	"rollback": func() record { return new(rollbackRecord) },
	"template": func() record { return new(ekTemplateRecord) },
}

// spellings are records as they will be read for ever, by kind.
var spellings = map[string][]string{
	"head": {
		`{"since":"2026-03-04T05:06:07.089Z","highest":0,"epochs":0}`,
		`{"since":"2026-03-04T05:06:07Z","highest":1099511627775,"epochs":3,"rollbacks":{"journal":1,"tpm":12}}`,
	},
	"counter": {
		`{"ek":"` + hex32 + `","seen":0}`,
		`{"ek":"` + hex32 + `","minter":"` + hex16 + `","seen":7,"claiming":true,"demoted":true}`,
	},
	"epoch": {
		`{"epoch":7,"class":"h","identity":"` + identityOfTPM + `","reason":"start","claimed":"2026-03-04T05:06:07Z",` +
			`"minter":"` + hex16 + `","ek":"` + hex32 + `","incarnation":"` + hex32 + `","counter":7,` +
			`"seen":{"clock":1,"reset_count":2,"restart_count":3,"boot_id":"b","verdict":"v"}}`,
		`{"epoch":1,"class":"j","identity":"` + identityWithout + `","reason":"used-up",` +
			`"claimed":"2026-03-04T05:06:07Z","minter":"` + hex16 + `","seen":{}}`,
	},
	"template": {`{"template":"ecc-p256"}`},
	"slot":     {`{"identity":"` + identityOfTPM + `","epoch":7}`},
	"rollback": {`{"number":3,"time":"2026-03-04T05:06:07Z","what":"tpm","seen":6,"expected":7}`},
}

func TestSpellings(t *testing.T) {
	for kind, texts := range spellings {
		for _, text := range texts {
			r := kinds[kind]()
			if err := decode([]byte(text), r); err != nil {
				t.Errorf("%s %s: %v", kind, text, err)
			}
		}
	}
	var r rollbackRecord
	want := rollbackRecord{3, Rollback{time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC), WhatTPM, 6, 7}}
	if err := decode([]byte(spellings["rollback"][0]), &r); err != nil || r != want {
		t.Errorf("rollback %+v, %v", r, err)
	}
}

// changes are what makes a good record a bad one.
var changes = []struct{ kind, old, new string }{
	{"head", `"since"`, `"Since"`},
	{"head", `"highest":1099511627775`, `"highest":1099511627776`},
	{"head", `"highest":1099511627775`, `"highest":0`},
	{"head", `"highest":1099511627775`, `"highest":-1`},
	{"head", `"highest":1099511627775`, `"highest":1e3`},
	{"head", `"epochs":3`, `"epochs":0`},
	{"head", `"epochs":3`, `"epochs":3,"epochs":3`},
	{"head", `"epochs":3`, `"epochs":3,"more":1`},
	{"head", `"epochs":3`, `"epochs":"3"`},
	{"head", `"tpm":12`, `"tmp":12`},
	{"head", `"tpm":12`, `"tpm":0`},
	{"head", `"journal":1,"tpm":12`, `"tpm":12,"journal":1`},
	{"head", `07Z`, `07+01:00`},
	{"head", `07Z`, `07.000Z`},
	{"head", `}}`, `}} `},
	{"head", `}}`, `}`},
	{"head", `,`, `, `},
	{"counter", `"ek":"ff`, `"ek":"FF`},
	{"counter", `"ek":"ff`, `"ek":"f`},
	{"counter", `"ek":"` + hex32, `"ek":"`},
	{"counter", `"minter":"ff`, `"minter":"`},
	{"counter", `"seen":7`, `"seen":1099511627776`},
	{"counter", `"claiming":true`, `"claiming":false`},
	{"epoch", `"class":"h"`, `"class":"s"`},
	{"epoch", `"class":"h"`, `"class":"j"`},
	{"epoch", `"class":"h"`, `"class":104`},
	{"epoch", `"epoch":7`, `"epoch":0`},
	{"epoch", `"epoch":7`, `"epoch":1099511627776`},
	{"epoch", identityOfTPM, identityWithout},
	{"epoch", identityOfTPM, ""},
	{"epoch", `"start"`, `""`},
	{"epoch", `"start"`, `"sta rt"`},
	{"epoch", `"start"`, `"` + strings.Repeat("a", 33) + `"`},
	{"epoch", `"minter":"ff`, `"minter":"fe`},
	{"epoch", `"ek":"ff`, `"ek":"fe`},
	{"epoch", `"ek":"` + hex32 + `",`, ``},
	{"epoch", `"incarnation":"` + hex32 + `",`, ``},
	{"epoch", `"counter":7,`, `"counter":0,`},
	{"epoch", `"boot_id":"b"`, `"boot_id":"b\ud800"`},
	{"epoch", `"verdict":"v"`, `"verdict":"` + strings.Repeat("v", 257) + `"`},
	{"slot", `7`, `1099511627776`},
	{"slot", identityOfTPM, identityOfTPM[1:]},
	{"rollback", `"tpm"`, `"weather"`},
	{"rollback", `"seen":6`, `"seen":null`},
	{"rollback", `{`, `[`},
}

func TestOtherSpellings(t *testing.T) {
	for _, test := range changes {
		good := spellings[test.kind][len(spellings[test.kind])-1]
		if test.kind == "epoch" {
			good = spellings[test.kind][0]
		}
		bad := strings.Replace(good, test.old, test.new, 1)
		if bad == good {
			t.Errorf("%s holds no %s", test.kind, test.old)
		}
		if err := decode([]byte(bad), kinds[test.kind]()); !errors.Is(err, store.ErrDamaged) {
			t.Errorf("%s %s: %v, want ErrDamaged", test.kind, bad, err)
		}
	}
}

// FuzzRecord: what is accepted is printed back byte for byte.
func FuzzRecord(f *testing.F) {
	for kind, texts := range spellings {
		for _, text := range texts {
			f.Add(kind, []byte(text))
		}
	}
	f.Fuzz(func(t *testing.T, kind string, data []byte) {
		empty, ok := kinds[kind]
		if !ok {
			return
		}
		r := empty()
		err := decode(data, r)
		if err != nil {
			if !errors.Is(err, store.ErrDamaged) {
				t.Errorf("%v, want ErrDamaged", err)
			}
			return
		}
		again, err := encode(r)
		if err != nil || !bytes.Equal(again, data) {
			t.Errorf("%q is printed back as %q, %v", data, again, err)
		}
	})
}
