package server

import (
	"errors"
	"testing"

	"github.com/opmint/opmint/api"
)

func TestCheckHost(t *testing.T) {
	for host, allowed := range map[string]bool{
		"":                          true,
		"opmint":                    true,
		"localhost":                 true,
		"localhost:8080":            true,
		"%2Frun%2Fopmint":           true,
		"_":                         true,
		"127.0.0.1":                 true,
		"127.1.2.3:80":              true,
		"[::1]":                     true,
		"[::1]:8080":                true,
		"[::ffff:127.0.0.1]:80":     true,
		"evil.example":              false,
		"evil.example:8080":         false,
		"localhost.evil.example":    false,
		"127.0.0.1.evil.example":    false,
		"127.0.0.1.evil.example:80": false,
		"localhost.":                false,
		"192.0.2.7":                 false,
		"192.0.2.7:80":              false,
		"0.0.0.0:80":                false,
		"[2001:db8::1]:80":          false,
		"[::1].evil.example":        false,
		"evil.example:80:80":        false,
	} {
		if err := checkHost(host); (err == nil) != allowed || err != nil && !errors.Is(err, api.ErrForbidden) {
			t.Errorf("%q: %v", host, err)
		}
	}
}
