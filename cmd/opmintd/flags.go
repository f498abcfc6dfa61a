package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/opmint/opmint/keygen"
	"github.com/opmint/opmint/tpm"
)

// path is a path as the value of a flag. An empty one comes from a variable that
// is not set, and must not be taken for the default.
type path string

func (p *path) String() string { return string(*p) }

func (p *path) Type() string { return "path" }

func (p *path) Set(text string) error {
	if text == "" {
		return errors.New("the path is empty")
	}
	*p = path(text)
	return nil
}

// index is the handle of an NV index as the value of a flag.
type index uint32

func (i *index) String() string { return fmt.Sprintf("0x%08x", uint32(*i)) }

func (i *index) Type() string { return "index" }

func (i *index) Set(text string) error {
	n, err := tpm.ParseIndex(text)
	if err == nil {
		*i = index(n)
	}
	return err
}

// choice is one of several words as the value of a flag.
type choice struct {
	value string
	of    []string
}

func (c *choice) String() string { return c.value }

func (c *choice) Type() string { return strings.Join(c.of, "|") }

func (c *choice) Set(text string) error {
	if !slices.Contains(c.of, text) {
		return fmt.Errorf("want %s", strings.Join(c.of, " or "))
	}
	c.value = text
	return nil
}

// Defaults of what users can take, and bounds of the horizon.
const (
	defaultHorizon = span(192 * time.Hour)
	defaultIntents = 10_000_000
	defaultStreams = 10_000
	defaultRunning = 10_000
	defaultBytes   = 8 << 30

	minHorizon = time.Second
	maxHorizon = 10 * 365 * 24 * time.Hour
)

// span is a time as the value of a flag, minHorizon to maxHorizon.
type span time.Duration

func (s *span) String() string { return strings.TrimSuffix(time.Duration(*s).String(), "0m0s") }

func (s *span) Type() string { return "duration" }

func (s *span) Set(text string) error {
	d, err := time.ParseDuration(text)
	if err != nil || d < minHorizon || d > maxHorizon {
		return fmt.Errorf("want a time from %v to %v, such as 192h", minHorizon, maxHorizon)
	}
	*s = span(d)
	return nil
}

// count is a number, such as of names, as the value of a flag, 1 to keygen.MaxSeq+1.
type count uint64

func (c *count) String() string {
	if *c == 0 {
		return ""
	}
	return strconv.FormatUint(uint64(*c), 10)
}

func (c *count) Type() string { return "number" }

func (c *count) Set(text string) error {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil || n < 1 || n > keygen.MaxSeq+1 {
		return fmt.Errorf("want a number from 1 to %d", keygen.MaxSeq+1)
	}
	*c = count(n)
	return nil
}
