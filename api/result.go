package api

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/opmint/opmint/ledger"
)

// Result is what came of an operation, for those who repeat it; see
// [ledger.Result].
type Result struct {
	Status  int                 `json:"status,omitempty"`  // 0 to 999
	Headers map[string][]string `json:"headers,omitempty"` // names and values come back as they were given
	Body    Body                `json:"body,omitempty"`    // more than [ledger.MaxBody] bytes are not kept

	// BodyOmitted: there was a body that is too large to be kept, or that who finished
	// could not keep. Body is absent.
	BodyOmitted bool `json:"body_omitted,omitempty"`
}

// tellResult returns a result as it goes over the wire; nil stays nil.
func tellResult(r *ledger.Result) *Result {
	if r == nil {
		return nil
	}
	return &Result{Status: r.Status, Headers: r.Headers, Body: r.Body, BodyOmitted: r.BodyOmitted}
}

// Ledger returns a result that came over the wire; nil stays nil.
func (r *Result) Ledger() *ledger.Result {
	if r == nil {
		return nil
	}
	return &ledger.Result{Status: r.Status, Headers: r.Headers, Body: r.Body, BodyOmitted: r.BodyOmitted}
}

// texts returns what must be UTF-8.
func (r *Result) texts() (texts []string) {
	if r == nil {
		return nil
	}
	for name, values := range r.Headers {
		texts = append(append(texts, name), values...)
	}
	return texts
}

// sendable returns a result whose body fits a request: one that would not be kept
// is left out, which is what the ledger does with it.
func sendable(r *ledger.Result) *Result {
	told := tellResult(r)
	if told != nil && len(told.Body) > ledger.MaxBody {
		told.Body, told.BodyOmitted = nil, true
	}
	return told
}

// Body is the body of a result: any bytes. Over the wire it is a string if it is
// UTF-8, or an object such as {"base64":"AP8"}, in base64url without padding.
type Body []byte

// inBase64 is a Body that is no string.
type inBase64 struct {
	Base64 *string `json:"base64"`
}

// MarshalJSON returns a string, or an object where that cannot hold the body or
// would be much longer.
func (b Body) MarshalJSON() ([]byte, error) {
	if utf8.Valid(b) {
		text, err := json.Marshal(string(b))
		if err != nil || len(text) <= len(b)*4/3+64 {
			return text, err
		}
	}
	return json.Marshal(inBase64{new(base64.RawURLEncoding.EncodeToString(b))})
}

// UnmarshalJSON reads a string or an object.
func (b *Body) UnmarshalJSON(data []byte) error {
	if data[0] == '"' {
		var text string
		err := json.Unmarshal(data, &text)
		*b = Body(text)
		return err
	}
	var encoded inBase64
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&encoded); err != nil || encoded.Base64 == nil {
		return errors.New(`a body is a string, or {"base64":"…"}`)
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(*encoded.Base64)
	if err != nil {
		return fmt.Errorf("the body is no base64url without padding: %w", err)
	}
	*b = raw
	return nil
}
