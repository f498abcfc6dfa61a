package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/opmint/opmint/keygen"
)

// nameInfo is what a name says by itself, in the form of the API's answer to
// GET /v1/names/{name}. A semantic name has no identity, epoch and seq.
type nameInfo struct {
	Name     keygen.Name `json:"name"`
	Class    string      `json:"class"`
	Identity string      `json:"identity,omitempty"`
	Epoch    *uint64     `json:"epoch,omitempty"`
	Seq      *uint64     `json:"seq,omitempty"`
	Labels   []string    `json:"labels"`
}

func describe(n keygen.Name) nameInfo {
	info := nameInfo{Name: n, Class: n.Class().String(), Labels: append([]string{}, n.Labels()...)}
	if n.Minted() {
		info.Identity, info.Epoch, info.Seq = n.Identity().String(), new(n.Epoch()), new(n.Seq())
	}
	return info
}

// parseName reads a name. Errors begin with which: "name 2 of 3: ", or nothing if
// the command's arguments are that one name.
func parseName(which, text string) (keygen.Name, error) {
	n, err := keygen.Parse(text)
	var wrong *keygen.ParseError
	switch {
	case err == nil:
		return n, nil
	case errors.As(err, &wrong) && wrong.Column == 1 && looksLikeUUID(text):
		return n, fmt.Errorf("%s%w; this is a UUID, and no name can be read back from one", which, err)
	}
	return n, fmt.Errorf("%s%w; give the name exactly as it was printed", which, err)
}

// looksLikeUUID reports whether text has the outline of a UUID, which no name
// has.
func looksLikeUUID(text string) bool {
	return len(text) == 36 && text[8] == '-' && text[13] == '-' && text[18] == '-' && text[23] == '-'
}

// printName writes a name that a command made, as a line of text or of JSON.
func printName(w io.Writer, n keygen.Name, asJSON bool) error {
	if asJSON {
		return printJSON(w, describe(n))
	}
	_, err := fmt.Fprintln(w, n)
	return err
}

// printJSON writes v as one line of JSON.
func printJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}
