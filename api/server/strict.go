package server

import (
	"bytes"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Bounds of a body's JSON.
const (
	maxDepth  = 16   // objects and lists in each other
	maxFields = 1024 // of one object
)

// unmarshal reads data, one JSON object, into the struct that v points to, all of
// whose fields have their JSON names in tags. Unlike encoding/json it refuses
// fields that the struct does not have, letter by letter, fields that stand there
// twice, null, which it would take for a field that is absent, and anything after the
// object. Its errors are short, whatever the data.
func unmarshal(data []byte, v any) error {
	if !json.Valid(data) {
		return syntax(json.Unmarshal(data, new(json.RawMessage)))
	}
	w := walk{data}
	if err := w.value(reflect.TypeOf(v).Elem(), maxDepth); err != nil {
		return err
	}
	err := json.Unmarshal(data, v)
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Errorf("field %s: unexpected %.40s", wrong.Field, wrong.Value)
	}
	if err != nil {
		return fmt.Errorf("%.200w", err)
	}
	if halfCharacter(data) {
		return errors.New("a string has half of a character, as \\ud800 without the other half")
	}
	return nil
}

// syntax says what is wrong with what is no JSON.
func syntax(err error) error {
	switch text := err.Error(); {
	case text == "unexpected end of JSON input":
		return errors.New("its JSON breaks off")
	case strings.HasSuffix(text, "after top-level value"):
		return errors.New("it goes on after its JSON object")
	}
	return fmt.Errorf("it is no JSON: %.200w", err)
}

// halfCharacter reports whether an escape in a JSON stands for half of a surrogate
// pair by itself (RFC 8259 section 8.2), all of which encoding/json takes for one
// and the same character.
func halfCharacter(data []byte) bool {
	for {
		i := bytes.IndexByte(data, '\\')
		if i < 0 {
			return false
		}
		if data = data[i:]; data[1] != 'u' {
			data = data[2:]
			continue
		}
		half := escaped(data)
		if data = data[6:]; !utf16.IsSurrogate(half) {
			continue
		}
		if !bytes.HasPrefix(data, []byte(`\u`)) || utf16.DecodeRune(half, escaped(data)) == utf8.RuneError {
			return true
		}
		data = data[6:]
	}
}

// escaped returns what an escape such as \u00e9 stands for, in a JSON that is one.
func escaped(data []byte) rune {
	n, _ := strconv.ParseUint(string(data[2:6]), 16, 16) // it was read before
	return rune(n)
}

// field returns the type of an object's field, and whether there is one.
func field(t reflect.Type, name string) (reflect.Type, bool) {
	if t == nil || t.Kind() != reflect.Struct {
		return element(t), true
	}
	for f := range t.Fields() {
		if tag, _, _ := strings.Cut(f.Tag.Get("json"), ","); tag == name {
			return f.Type, true
		}
	}
	return nil, false
}

// readsNull reports whether a t is told of a null, and not only left as it is.
func readsNull(t reflect.Type) bool {
	return t == nil || reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]())
}

// inside returns what t points to, and nil if that reads for itself.
func inside(t reflect.Type) reflect.Type {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == nil || reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()) ||
		reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) {
		return nil
	}
	return t
}

// element returns the type of what a list or a map of type t holds.
func element(t reflect.Type) reflect.Type {
	if t != nil && (t.Kind() == reflect.Slice || t.Kind() == reflect.Map) {
		return t.Elem()
	}
	return nil
}
