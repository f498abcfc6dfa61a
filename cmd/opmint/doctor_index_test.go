package main

import (
	"strings"
	"testing"
	"time"

	"github.com/opmint/opmint/tpm"
)

func TestWear(t *testing.T) {
	now := time.Date(2026, 7, 1, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		value, first uint64
		age          time.Duration
		state        condition
		says         string
	}{
		{250, 1, year, conditionOK,
			"250 of some 500000 writes that a TPM survives (0.1 %) since 2025-07-01; at this rate there is no end to it"},
		{1250, 1001, year, conditionOK, "250 of some 500000"},
		{10_000, 1, year, conditionOK, "(2.0 %) since 2025-07-01; at this rate enough for 49 years"},
		{100_000, 1, year, conditionWarning, "at this rate it is worn out in 4.0 years"},
		{300_000, 1, 10 * year, conditionWarning, "think of another board"},
		{7, 1, time.Hour, conditionOK, "the rate cannot be told before a day has passed"},
		{7, 0, 0, conditionOK, "at most 7 of some 500000 writes that a TPM survives (0.0 %); since when is not known here"},
	} {
		status := tpm.Status{State: tpm.Ready, Value: c.value, First: c.first}
		if c.age > 0 {
			status.Defined = now.Add(-c.age)
		}
		if f := judgeWear(status, now); f.State != c.state || !strings.Contains(f.Says, c.says) {
			t.Errorf("%+v: %+v, want %s with %q", c, f, c.state, c.says)
		}
	}
}
