package vmtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// A monitor speaks QEMU's machine protocol (QMP).
type monitor struct{ *wire }

// greet ends the negotiation that QEMU waits for before it takes commands.
func (m monitor) greet(ctx context.Context) error {
	_, err := m.execute(ctx, "qmp_capabilities", nil)
	return err
}

// execute returns QEMU's answer to command. Events and the greeting, which come unasked, are passed over.
func (m monitor) execute(ctx context.Context, command string, arguments map[string]any) (json.RawMessage, error) {
	var answer struct {
		Return json.RawMessage               `json:"return"`
		Error  *struct{ Class, Desc string } `json:"error"`
	}
	request := map[string]any{"execute": command}
	if arguments != nil {
		request["arguments"] = arguments
	}
	err := m.exchange(ctx, request, func(line []byte) bool {
		return json.Unmarshal(line, &answer) == nil && (answer.Return != nil || answer.Error != nil)
	})
	if err == nil && answer.Error != nil {
		err = fmt.Errorf("%s: %s", answer.Error.Class, answer.Error.Desc)
	}
	if err != nil {
		return nil, fmt.Errorf("QEMU command %s: %w", command, err)
	}
	return answer.Return, nil
}

// human runs a command line of the human monitor, for what QMP has no command for: snapshots of memory and disk. It
// prints nothing when it succeeds.
func (m monitor) human(ctx context.Context, line string) error {
	answer, err := m.execute(ctx, "human-monitor-command", map[string]any{"command-line": line})
	if err != nil {
		return err
	}
	var complaint string
	if err := json.Unmarshal(answer, &complaint); err != nil {
		return fmt.Errorf("QEMU command %q: %w", line, err)
	}
	if complaint != "" {
		return fmt.Errorf("QEMU command %q: %w", line, errors.New(strings.TrimSpace(complaint)))
	}
	return nil
}
