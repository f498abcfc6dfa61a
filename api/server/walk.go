package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"unicode/utf8"
)

// errNull says that a value is null.
var errNull = errors.New("null")

// walk is what is left of a JSON that is sound. Nothing of it is copied: most bodies are
// small, and some have ten thousand names.
type walk struct{ rest []byte }

// next skips what stands between values, and returns what comes.
func (w *walk) next() byte {
	w.rest = bytes.TrimLeft(w.rest, whiteSpace+",:")
	return w.rest[0]
}

// value walks over the next value, which goes into a t. A nil t is one that reads for
// itself: its fields are its own affair, and whether they are null.
func (w *walk) value(t reflect.Type, depth int) error {
	switch open := w.next(); {
	case open == 'n' && !readsNull(t):
		return errNull
	case open == '"':
		w.text()
		return nil
	case open != '{' && open != '[':
		w.rest = w.rest[bytes.IndexAny(w.rest, whiteSpace+",]}"):]
		return nil
	case depth == 0:
		return fmt.Errorf("it nests deeper than %d", maxDepth)
	case open == '{':
		w.rest = w.rest[1:]
		return w.object(inside(t), depth-1)
	}
	w.rest = w.rest[1:]
	for t = element(inside(t)); w.next() != ']'; {
		if err := w.value(t, depth-1); err != nil {
			return err
		}
	}
	w.rest = w.rest[1:]
	return nil
}

// text walks over a string and returns it as it stands there, with its quotes.
func (w *walk) text() []byte {
	end := 1
	for w.rest[end] != '"' {
		if w.rest[end] == '\\' {
			end++
		}
		end++
	}
	text := w.rest[:end+1]
	w.rest = w.rest[end+1:]
	return text
}

// object walks over the fields of an object.
func (w *walk) object(t reflect.Type, depth int) error {
	var seen names
	for count := 0; w.next() != '}'; count++ {
		name := w.name()
		of, known := field(t, name)
		switch {
		case !known:
			return fmt.Errorf("unknown field %.40q", name)
		case !seen.add(name):
			return fmt.Errorf("field %.40q stands there twice", name)
		case count == maxFields:
			return fmt.Errorf("an object has more than %d fields", maxFields)
		}
		if err := w.value(of, depth); err == errNull {
			return fmt.Errorf("field %.40q is null", name)
		} else if err != nil {
			return err
		}
	}
	w.rest = w.rest[1:]
	return nil
}

// name walks over the name of a field and returns it.
func (w *walk) name() (name string) {
	text := w.text()
	if inner := text[1 : len(text)-1]; bytes.IndexByte(inner, '\\') < 0 && utf8.Valid(inner) {
		return string(inner)
	}
	_ = json.Unmarshal(text, &name) // it is sound
	return name
}

// names is a set of names, of which there are mostly few.
type names struct {
	few  []string
	many map[string]bool
}

// add adds a name, and reports whether it is new.
func (n *names) add(name string) bool {
	if slices.Contains(n.few, name) || n.many[name] {
		return false
	}
	if len(n.few) < 16 {
		n.few = append(n.few, name)
		return true
	}
	if n.many == nil {
		n.many = map[string]bool{}
	}
	n.many[name] = true
	return true
}
