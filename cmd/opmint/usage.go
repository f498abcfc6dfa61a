package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
)

// usageError is a command line that the program does not understand.
type usageError struct {
	command string // as typed, such as "opmint render"
	err     error
}

func (e *usageError) Error() string { return fmt.Sprintf("%v; see '%s --help'", e.err, e.command) }

func (e *usageError) Unwrap() error { return e.err }

// misuse returns the usageError of cmd for the given reason.
func misuse(cmd *cobra.Command, format string, args ...any) error {
	return &usageError{command: cmd.CommandPath(), err: fmt.Errorf(format, args...)}
}

// flagProblem returns err, which a flag's parser found, without the names of Go
// functions that it has for a value that is no number, or neither true nor false.
func flagProblem(err error) error {
	var wrong *strconv.NumError
	if !errors.As(err, &wrong) {
		return err
	}
	reason := wrong.Err.Error()
	if wrong.Func == "ParseBool" {
		reason = "want true or false"
	}
	return errors.New(strings.Replace(err.Error(), wrong.Error(), reason, 1))
}

// refuseMisuse turns whatever cobra finds wrong with a command line into a
// usageError, in all commands below root and in cobra's own. Left alone, cobra
// prints help and succeeds where a command is missing. It comes after SetOut,
// because cobra's completion command keeps the output that it finds.
func refuseMisuse(root *cobra.Command) {
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return misuse(cmd, "%w", flagProblem(err)) })
	// With missingCommand, groups are runnable: for cobra's template, commands to
	// be shown with and without a subcommand.
	root.SetUsageTemplate(strings.Replace(root.UsageTemplate(),
		"{{if .Runnable}}", "{{if not .HasAvailableSubCommands}}", 1))
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		switch cmd.Name() {
		case "help":
			cmd.Args = commandPath
		case "completion":
			for _, shell := range cmd.Commands() {
				shell.Args = noArguments
			}
		}
	}
	checkArgs(root)
}

// commandFirst refuses what stands before a command of group in args, unless they
// are flags of group, and returns the group that refuses. Left alone, cobra takes
// a command's flags there if it can tell them from the command, which depends on
// whether they have a value.
func commandFirst(group *cobra.Command, args []string) (*cobra.Command, error) {
	group.InitDefaultHelpFlag()
	group.InitDefaultVersionFlag()
	group.Flags().SetInterspersed(false)
	if err := group.ParseFlags(args); err != nil {
		return group, misuse(group, "%w; flags of a command stand after it", flagProblem(err))
	}
	if group.ArgsLenAtDash() == 0 {
		return group, misuse(group, "a command is needed before --")
	}
	rest := group.Flags().Args()
	for _, sub := range group.Commands() {
		if sub.HasSubCommands() && len(rest) > 0 && sub.Name() == rest[0] {
			return commandFirst(sub, rest[1:])
		}
	}
	return group, nil
}

// checkArgs makes the wrong arguments of cmd and of all commands below it
// usageErrors.
func checkArgs(cmd *cobra.Command) {
	if cmd.HasSubCommands() {
		cmd.Args = cobra.ArbitraryArgs
		cmd.RunE = missingCommand
		cmd.SuggestionsMinimumDistance = 2
	}
	if check := cmd.Args; check != nil {
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			if err := check(cmd, args); err != nil {
				return misuse(cmd, "%w; usage: %s", err, cmd.UseLine())
			}
			return nil
		}
	}
	for _, sub := range cmd.Commands() {
		checkArgs(sub)
	}
}

// missingCommand is what a group of commands does when none of them is named.
func missingCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return misuse(cmd, "a command is needed")
	}
	// To cobra, every command begins with "" and is a suggestion for it.
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 && args[0] != "" {
		return misuse(cmd, "unknown command %.40q, did you mean %q?", args[0], near[0])
	}
	return misuse(cmd, "unknown command %.40q", args[0])
}

// noArguments is cobra.NoArgs, which takes an argument for an unknown command.
func noArguments(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return errors.New("takes no arguments")
	}
	return nil
}

// commandPath accepts the path of a command as arguments.
func commandPath(cmd *cobra.Command, args []string) error {
	_, rest, err := cmd.Root().Find(args)
	if err == nil && len(rest) > 0 {
		err = fmt.Errorf("unknown command %.40q", rest[0])
	}
	return err
}
