package vtpmdetect

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// maxEvidence bounds an evidence file, in bytes. The largest seen has 2 KiB.
const maxEvidence = 1 << 20

// ParseEvidence reads a saved report: evidence as JSON, bare or as the field
// "evidence" of an object, which is how `opmint detect --json` prints it.
//
// Fields of the evidence that this version does not know are ignored, and
// returned as paths such as "host.smbios_vm_bit": the verdict may miss what
// they say. A value of the wrong type, and a known name in another case, is an
// error: it was meant to be read and cannot be.
func ParseEvidence(data []byte) (e Evidence, ignored []string, err error) {
	if len(data) > maxEvidence {
		return Evidence{}, nil, fmt.Errorf("read evidence: %d bytes, more than %d", len(data), maxEvidence)
	}
	var report struct {
		Evidence json.RawMessage `json:"evidence"`
	}
	if err := json.Unmarshal(data, &report); err != nil {
		return Evidence{}, nil, fmt.Errorf("read evidence: not a JSON object: %w", err)
	}
	if report.Evidence != nil {
		data = report.Evidence
	}
	var raw map[string]any
	if err := json.Unmarshal(data, &raw); err != nil {
		return Evidence{}, nil, fmt.Errorf("read evidence: not a JSON object: %w", err)
	}
	ignored, err = unknownFields("", raw, reflect.TypeFor[Evidence]())
	if err != nil {
		return Evidence{}, nil, fmt.Errorf("read evidence: %w", err)
	}
	if err := json.Unmarshal(data, &e); err != nil {
		return Evidence{}, nil, fmt.Errorf("read evidence: %w", err)
	}
	return e, ignored, nil
}

// unknownFields lists the keys of object, and of objects in it, that are no
// field of the struct type t.
func unknownFields(path string, object map[string]any, t reflect.Type) ([]string, error) {
	known := make(map[string]reflect.Type)
	for field := range t.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		known[name] = field.Type
	}
	var unknown []string
	for _, key := range slices.Sorted(maps.Keys(object)) {
		fieldType, ok := known[key]
		if !ok {
			for name := range known {
				// encoding/json would take it for the field.
				if strings.EqualFold(name, key) {
					return nil, fmt.Errorf("field %q must be written %q", path+key, path+name)
				}
			}
			unknown = append(unknown, path+key)
			continue
		}
		if fieldType.Kind() == reflect.Pointer {
			fieldType = fieldType.Elem()
		}
		if inner, ok := object[key].(map[string]any); ok && fieldType.Kind() == reflect.Struct {
			more, err := unknownFields(path+key+".", inner, fieldType)
			if err != nil {
				return nil, err
			}
			unknown = append(unknown, more...)
		}
	}
	return unknown, nil
}
