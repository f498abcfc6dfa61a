package vmtest

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// A VM is a running virtual machine. Who has one must Kill it.
type VM struct {
	console     string // file of what the kernel printed
	agent       *wire  // to the guest program
	monitor     monitor
	qemu, swtpm *process
}

// Call has the guest program do a task and decodes what it answers into result. It is one task at a time. An error is
// the task's own, or says that the machine died or did not answer before ctx ended; then it has what the kernel
// printed, and the machine is killed.
func (vm *VM) Call(ctx context.Context, task string, arguments, result any) error {
	// Random, so that an answer to a task from before a restore is not taken for one to this.
	id := rand.Text()
	answer, err := vm.exchange(ctx, map[string]any{"id": id, "task": task, "arguments": arguments}, id)
	if err != nil {
		return fmt.Errorf("guest task %s: %w", task, err)
	}
	if err := json.Unmarshal(answer, result); err != nil {
		return fmt.Errorf("guest task %s: %w", task, err)
	}
	return nil
}

// await returns when the guest program has sent a line of its own accord that has this id.
func (vm *VM) await(ctx context.Context, id string) error {
	_, err := vm.exchange(ctx, nil, id)
	return err
}

func (vm *VM) exchange(ctx context.Context, request any, id string) (json.RawMessage, error) {
	var answer struct {
		ID     string          `json:"id"`
		Result json.RawMessage `json:"result"`
		Error  string          `json:"error"`
	}
	err := vm.agent.exchange(ctx, request, func(line []byte) bool {
		answer.ID = ""
		// A restore can leave half a line, which is nobody's answer.
		return json.Unmarshal(line, &answer) == nil && answer.ID == id
	})
	if err != nil {
		return nil, vm.explain(err)
	}
	if answer.Error != "" {
		return nil, errors.New(answer.Error)
	}
	return answer.Result, nil
}

// Snapshot keeps memory, disk and TPM as they are now under a name, in the machine's disk.
func (vm *VM) Snapshot(ctx context.Context, name string) error {
	return vm.monitor.human(ctx, "savevm "+name)
}

// Restore takes memory, disk and TPM back to a snapshot, and goes on from there.
func (vm *VM) Restore(ctx context.Context, name string) error {
	return vm.monitor.human(ctx, "loadvm "+name)
}

// Kill cuts the power of machine and TPM, and returns when both are gone.
func (vm *VM) Kill() {
	vm.qemu.kill()
	vm.swtpm.kill()
	vm.agent.close()
	vm.monitor.close()
}

// Console returns the end of what the kernel and the guest program have printed since the power came on.
func (vm *VM) Console() string {
	const enough = 4096
	text, err := os.ReadFile(vm.console)
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-enough):])
}

// explain ends a machine that does not answer, and adds to err what it has to say.
func (vm *VM) explain(err error) error {
	if errors.Is(err, io.EOF) {
		// Not killed yet: the way it ends tells a crash of QEMU from one of the guest.
		<-vm.qemu.exited
	}
	vm.Kill()
	return fmt.Errorf("%w\nQEMU: %v\nswtpm: %v\nconsole: %s", err, vm.qemu, vm.swtpm, vm.Console())
}
