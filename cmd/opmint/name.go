package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/opmint/opmint/api"
	"github.com/opmint/opmint/keygen"
)

// nameInfo is what a name says by itself: what the API answers to GET
// /v1/names/{name}, but for what only a daemon knows.
type nameInfo struct {
	api.NameInfo
	Here bool `json:"here,omitzero"` // in place of the field that no daemon was asked for
}

func describe(n keygen.Name) nameInfo { return nameInfo{NameInfo: api.Describe(n)} }

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
