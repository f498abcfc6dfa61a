package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"github.com/opmint/opmint/api"
)

// targets are the least ratios of rates to reach with so many clients.
type targets struct {
	clients        int
	echo           float64 // a mint over a kept connection against an echo; 0 if there is no such target
	uuidd          float64 // against uuidd
	newConnections float64 // a mint over a new connection against uuidd
}

var daemonTargets = []targets{{1, 0.35, 1.0, 0.4}, {4, 0, 1.4, 0.4}, {16, 0.35, 1.6, 0.4}}

// Targets of the rest: the names of a stream, a second, and the rate of 'opmint
// mint' against that of a program that does nothing, which is a third.
const (
	streamTarget  = 6e6
	programTarget = 1.0 / 3
)

// add adds a subject to the table.
func (t *table) add(s *subject) *subject {
	t.subjects = append(t.subjects, s)
	return s
}

// against adds a comparison of two subjects of the table.
func (t *table) against(ours, theirs *subject, target float64) {
	t.comparisons = append(t.comparisons, comparison{ours, theirs, target})
}

// compareRequests adds what so many clients get from the servers, each asking for
// one thing at a time.
func (t *table) compareRequests(s *servers, want targets) {
	note := "1 client"
	if want.clients > 1 {
		note = fmt.Sprintf("%d clients", want.clients)
	}
	add := func(name, socket string, keep bool, p protocol) *subject {
		return t.add(&subject{name: name, note: note, run: newLoad(socket, want.clients, keep, p).run})
	}
	kept := add("mint, kept connection", s.opmintd, true, mintOne)
	fresh := add("mint, new connection", s.opmintd, false, mintOne)
	time := add("uuidd, time", s.uuidd, false, uuiddTime)
	random := add("uuidd, random", s.uuidd, false, uuiddRandom)
	if want.echo > 0 {
		t.against(kept, add("echo of 64 bytes, kept connection", s.echo, true, echo64), want.echo)
	}
	t.against(kept, time, want.uuidd)
	t.against(kept, random, want.uuidd)
	t.against(fresh, time, want.newConnections)
	t.against(fresh, random, want.newConnections)
}

// compareStream adds the names of one answer.
func (t *table) compareStream(s *servers) {
	t.against(t.add(&subject{
		name: "names of one text answer", note: fmt.Sprintf("count=%d", api.MaxNames),
		run: newLoad(s.opmintd, 1, true, mintMany).run, each: api.MaxNames,
	}), nil, streamTarget)
}

// repeat is a shell script that runs a command so many times: with less between
// two runs than a program in Go could have.
const repeat = `left=$1; shift; while [ $left -gt 0 ]; do "$@" >/dev/null || exit; left=$((left-1)); done`

// comparePrograms adds the run of a program, from its start to its end.
func (t *table) comparePrograms(s *servers, dir string) {
	run := func(program string, args ...string) func(int) error {
		return func(n int) error {
			args := append([]string{"-c", repeat, "sh", strconv.Itoa(n), filepath.Join(dir, program)}, args...)
			cmd := exec.Command("sh", args...)
			cmd.Env = append(os.Environ(), api.SocketVariable+"="+s.opmintd)
			if err := cmd.Run(); err != nil {
				return fmt.Errorf("%s: %w", program, err)
			}
			return nil
		}
	}
	ours := t.add(&subject{name: "`opmint mint`", note: "start to end", run: run("opmint", "mint")})
	theirs := t.add(&subject{name: "an empty Go program", note: "start to end", run: run("empty")})
	t.against(ours, theirs, programTarget)
}
