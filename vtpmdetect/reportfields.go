package vtpmdetect

import (
	"bytes"
	"cmp"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// decode reads JSON into what to points to, and lists the fields that are not
// known there. encoding/json alone would ignore them, take a name in another
// case for the field, and not say which field an error is about.
func decode(path string, data json.RawMessage, to any) (unknown []string, err error) {
	if unknown, err = check(path, data, reflect.TypeOf(to).Elem()); err != nil {
		return nil, err
	}
	return unknown, json.Unmarshal(data, to)
}

// check holds the JSON of one field against its type, and what is in it against
// theirs. null is the same as an absent field, whatever the type.
func check(path string, data json.RawMessage, t reflect.Type) (unknown []string, err error) {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case string(data) == "null":
		return nil, nil
	case t.Kind() == reflect.Struct:
		return checkFields(path, data, t)
	case t.Kind() == reflect.Slice:
		return checkItems(path, data, t.Elem())
	}
	err = json.Unmarshal(data, reflect.New(t).Interface())
	var wrong *json.UnmarshalTypeError
	switch {
	case errors.As(err, &wrong):
		return nil, fmt.Errorf("field %q must be %s", path, wanted(t))
	case err != nil:
		return nil, fmt.Errorf("field %q: %w", path, err)
	}
	return nil, nil
}

func checkItems(path string, data json.RawMessage, t reflect.Type) (unknown []string, err error) {
	var items []json.RawMessage
	if json.Unmarshal(data, &items) != nil {
		return nil, fmt.Errorf("field %q must be a list", path)
	}
	for i, item := range items {
		more, err := check(fmt.Sprintf("%s[%d]", path, i), item, t)
		if err != nil {
			return nil, err
		}
		unknown = append(unknown, more...)
	}
	return unknown, nil
}

func checkFields(path string, data json.RawMessage, t reflect.Type) (unknown []string, err error) {
	known := make(map[string]reflect.Type)
	for field := range t.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		known[name] = field.Type
	}
	fields, err := objectOf(data)
	if err != nil {
		return nil, fmt.Errorf("field %q must be an object", cmp.Or(path, "evidence"))
	}
	if err := once(path, data); err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		inner := within(path, name)
		if known[name] == nil {
			for other := range known {
				if strings.EqualFold(name, other) {
					return nil, respelt(inner, other)
				}
			}
			unknown = append(unknown, inner)
			continue
		}
		more, err := check(inner, fields[name], known[name])
		if err != nil {
			return nil, err
		}
		unknown = append(unknown, more...)
	}
	return unknown, nil
}

// once refuses an object, whose JSON is sound, that has a field twice: readers of
// JSON differ in which of the two they believe.
func once(path string, object []byte) error {
	d := json.NewDecoder(bytes.NewReader(object))
	seen := map[json.Token]bool{}
	var value json.RawMessage
	_, err := d.Token() // the brace
	for err == nil && d.More() {
		var name json.Token
		if name, err = d.Token(); seen[name] {
			return fmt.Errorf("field %q stands there twice", within(path, fmt.Sprint(name)))
		}
		seen[name] = true
		err = cmp.Or(err, d.Decode(&value))
	}
	return err
}

// within is the path of a field of the object at path.
func within(path, name string) string { return strings.TrimPrefix(path+"."+name, ".") }

func respelt(path, name string) error { return fmt.Errorf("field %q must be spelt %q", path, name) }

// wanted names the JSON that a type is read from.
func wanted(t reflect.Type) string {
	if reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) {
		return "a string"
	}
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.Uint32:
		return "a number from 0 to 4294967295"
	}
	return "a string"
}
