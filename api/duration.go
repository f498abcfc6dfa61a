package api

import (
	"fmt"
	"time"
)

// Duration goes over the wire as a Go duration, such as 168h or 1m30s.
type Duration time.Duration

// String returns the duration as Go prints it.
func (d Duration) String() string { return time.Duration(d).String() }

// MarshalText returns what String does.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText accepts what [time.ParseDuration] does.
func (d *Duration) UnmarshalText(text []byte) error {
	parsed, err := time.ParseDuration(string(text))
	if err != nil {
		return fmt.Errorf("%.40q is no duration such as 168h", text)
	}
	*d = Duration(parsed)
	return nil
}
