package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/opmint/opmint/api"
)

// form has a field of each kind that a body can have.
type form struct {
	Count uint64              `json:"count"`
	Name  *string             `json:"name,omitempty"`
	Lists map[string][]string `json:"lists"`
	Inner []struct {
		A int `json:"A"`
	} `json:"inner"`
	Tagged *struct {
		X json.RawMessage `json:"x"`
	} `json:"tagged"`
	Key api.LeaseKey `json:"key"`
}

func TestUnmarshal(t *testing.T) {
	for text, says := range map[string]string{
		`{}`:                                "",
		` {"count": 3 , "name":"x"}` + "\n": "",
		`{"lists":{"A":["x"],"a":[]},"tagged":{"x":{"any":[{"thing":null}]}},"inner":[]}`: "",
		`{"tagged":{"x":null}}`: "",

		`{"name":"\ud83d\udcb6 \ufffd \u00e9 \\ud800 \n\\"}`: "",
		`{"name":"\ud800"}`:                   `half of a character`,
		`{"name":"\udcb6\ud83d"}`:             `half of a character`,
		`{"name":"\ud83d\u0041"}`:             `half of a character`,
		`{"name":"\\\ud83d"}`:                 `half of a character`,
		`{"COUNT":3}`:                         `unknown field "COUNT"`,
		`{"number":3}`:                        `unknown field "number"`,
		`{"tagged":{"y":1}}`:                  `unknown field "y"`,
		`{"inner":[{"a":1}]}`:                 `unknown field "a"`,
		`{"count":1,"count":1}`:               `field "count" stands there twice`,
		`{"count":1,"\u0063ount":2}`:          `field "count" stands there twice`,
		`{"lists":{"a":[],"a":[]}}`:           `field "a" stands there twice`,
		`{"tagged":{"x":{"a":1,"a":2}}}`:      `field "a" stands there twice`,
		`{"count":null}`:                      `field "count" is null`,
		`{"name":null}`:                       `field "name" is null`,
		`{"key":null}`:                        `field "key" is null`,
		`{"tagged":null}`:                     `field "tagged" is null`,
		`{"lists":null}`:                      `field "lists" is null`,
		`{"lists":{"a":null}}`:                `field "a" is null`,
		`{"lists":{"a":["b",null]}}`:          `field "a" is null`,
		`{"inner":[null]}`:                    `field "inner" is null`,
		`{"inner":[{"A":null}]}`:              `field "A" is null`,
		`{"count":1.5}`:                       `field count: unexpected number 1.5`,
		`{"count":1.0}`:                       `field count: unexpected number 1.0`,
		`{"count":-1}`:                        `field count: unexpected number -1`,
		`{"count":1e3}`:                       `field count: unexpected number 1e3`,
		`{"count":18446744073709551616}`:      `field count: unexpected number 18446744073709551616`,
		`{"count":"3"}`:                       `field count: unexpected string`,
		`{"count":[3]}`:                       `field count: unexpected array`,
		`{"count":true}`:                      `field count: unexpected bool`,
		`{"lists":[{"a":[]}]}`:                `field lists: unexpected array`,
		`{"key":"short"}`:                     `a lease key of 5 characters`,
		`{"count":1}{}`:                       `goes on after`,
		`{"count":1},`:                        `goes on after`,
		`{"count":1} x`:                       `goes on after`,
		`{"count":1`:                          `breaks off`,
		`{"count"`:                            `breaks off`,
		`{`:                                   `breaks off`,
		`{"count":}`:                          `no JSON`,
		`{count:1}`:                           `no JSON`,
		`{'count':1}`:                         `no JSON`,
		`{"count":1,}`:                        `no JSON`,
		`{"count":01}`:                        `no JSON`,
		`{"count":NaN}`:                       `no JSON`,
		`{"name":"` + "\n" + `"}`:             `no JSON`,
		`{"inner":[1 2]}`:                     `no JSON`,
		`{"inner":[}`:                         `no JSON`,
		strings.Repeat(`{"tagged":`, 100_000): `no JSON`,
		strings.Repeat(`{"tagged":`, 9999) + "0" + strings.Repeat("}", 9999):                `unknown field "tagged"`,
		`{"tagged":{"x":` + strings.Repeat(`[`, 9000) + strings.Repeat("]", 9000) + "}}":    `nests deeper than 16`,
		`{"tagged":{"x":` + strings.Repeat(`{"a":`, 9000) + "0" + strings.Repeat("}", 9002): `nests deeper than 16`,
		`{"` + strings.Repeat("a", 1<<20) + `":1}`:                                          `unknown field "aaaa`,
		`{"count":` + strings.Repeat("1", 1<<20) + `}`:                                      `unexpected number 1111`,
		`{"lists":{` + manyFields(maxFields) + `}}`:                                         "",
		`{"lists":{` + manyFields(maxFields+1) + `}}`:                                       `more than 1024 fields`,
	} {
		var f form
		err := unmarshal([]byte(text), &f)
		if (err == nil) != (says == "") || err != nil && (!strings.Contains(err.Error(), says) || len(err.Error()) > 300) {
			t.Errorf("%.80s: %.400v, want %q", text, err, says)
		}
	}
}

func manyFields(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"f%d":[],`, i)
	}
	return strings.TrimSuffix(b.String(), ",")
}

// FuzzUnmarshal: what is accepted is what encoding/json reads, and there is one
// way only to read it.
func FuzzUnmarshal(f *testing.F) {
	for _, text := range []string{
		`{}`, `{"count":3}`, `{"count":3,"count":4}`, `{"Count":3}`, `{"lists":{"a":["b"]}}`, `{"inner":[{"A":1}]}`,
		`{"tagged":{"x":[1,{"y":null}]}}`, `{"name":null}`, `{"count":1}{}`, `{"name":"\ud800"}`, `{"key":"-_-_AQIDBAUGBwgJCgsMDQ"}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var got, want form
		if !bytes.HasPrefix(data, []byte("{")) || unmarshal(data, &got) != nil {
			return
		}
		d := json.NewDecoder(bytes.NewReader(data))
		d.DisallowUnknownFields()
		if err := d.Decode(&want); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q is %+v, want %+v, %v", data, got, want, err)
		}
	})
}
