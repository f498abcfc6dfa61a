package vmtest

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// A VM is a running virtual machine. Who has one must Kill it.
type VM struct {
	machine     *Machine
	agent       *wire // to the guest program
	monitor     monitor
	qemu, swtpm *process
}

// message is what the guest program sends.
type message struct {
	ID     string          `json:"id"`
	Output []byte          `json:"output"`
	Result json.RawMessage `json:"result"`
	Error  string          `json:"error"`
}

// Call has the guest program do a task and decodes what it answers into result. It is one task at a time. An error is
// the task's own, or says that the machine died or did not answer before ctx ended; then it has what the kernel
// printed, and the machine is killed.
func (vm *VM) Call(ctx context.Context, task string, arguments, result any) error {
	// Random, so that an answer to a task from before a restore is not taken for one to this.
	id := rand.Text()
	answer, err := vm.exchange(ctx, map[string]any{"id": id, "task": task, "arguments": arguments}, id, io.Discard)
	if err != nil {
		return fmt.Errorf("guest task %s: %w", task, err)
	}
	if err := json.Unmarshal(answer, result); err != nil {
		return fmt.Errorf("guest task %s: %w", task, err)
	}
	return nil
}

// Run has the guest run a program with arguments, and writes to stdout what it prints, while it runs. Errors are as
// those of Call; the program's own has what it complained of.
func (vm *VM) Run(ctx context.Context, stdout io.Writer, command ...string) error {
	id := rand.Text()
	_, err := vm.exchange(ctx, map[string]any{"id": id, "task": "run", "arguments": command}, id, stdout)
	if err != nil {
		return fmt.Errorf("in the guest: %w", err)
	}
	return nil
}

// await returns when the guest program has sent a line of its own accord that has this id.
func (vm *VM) await(ctx context.Context, id string) error {
	_, err := vm.exchange(ctx, nil, id, io.Discard)
	return err
}

func (vm *VM) exchange(ctx context.Context, request any, id string, output io.Writer) (json.RawMessage, error) {
	var answer message
	var unwritten error
	err := vm.agent.exchange(ctx, request, func(line []byte) bool {
		answer = message{}
		// A restore can leave half a line, which is nobody's answer.
		if json.Unmarshal(line, &answer) != nil || answer.ID != id {
			return false
		}
		if answer.Output == nil {
			return true
		}
		_, unwritten = output.Write(answer.Output)
		return unwritten != nil
	})
	if err = errors.Join(err, unwritten); err != nil {
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

// explain ends a machine that does not answer, and adds to err what it has to say.
func (vm *VM) explain(err error) error {
	if errors.Is(err, io.EOF) {
		// Not killed yet: the way it ends tells a crash of QEMU from one of the guest.
		<-vm.qemu.exited
	}
	vm.Kill()
	return fmt.Errorf("%w\nQEMU: %v\nswtpm: %v\nconsole: %s", err, vm.qemu, vm.swtpm, vm.machine.Console())
}
