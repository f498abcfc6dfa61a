package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/opmint/opmint/api"
	"github.com/opmint/opmint/keygen"
)

const mintForHelp = `With --for the daemon stores it: the name of an INTENT, which is whatever you call
the operation before it has a name, is the same each time, after restarts of all,
and yours alone. With --payload another payload under the same INTENT is refused
(exit code 3), and so is an INTENT that was forgotten, which it is after --retain.
With --stream it has a number too, which --json shows.`

// intentOptions are the flags of mint that are about an intent.
type intentOptions struct {
	intent, stream text
	payload        text
	retain         retain
}

func (o *intentOptions) register(cmd *cobra.Command) {
	cmd.Flags().Var(&o.intent, "for", "the name of this `intent`, the same each time")
	cmd.Flags().Var(&o.payload, "payload", "`file` with what is sent under the name, or - for standard input")
	cmd.Flags().Var(&o.retain, "retain", "`time` for which a new intent is remembered, such as 48h (default 168h)")
	cmd.Flags().Var(&o.stream, "stream", "`stream` in which the intent gets a number")
}

// check says what is wrong with the flags, together.
func (o *intentOptions) check(cmd *cobra.Command) error {
	switch {
	case o.intent != "" && cmd.Flags().Changed("count"):
		return errors.New("--for INTENT has one name: no --count with it")
	case o.intent == "" && (o.stream != "" || o.payload != "" || o.retain != 0):
		return errors.New("--stream, --payload and --retain need --for INTENT")
	case o.stream != "" && (o.payload != "" || o.retain != 0):
		return errors.New("--stream takes neither --payload nor --retain: a receiver of a stream compares payloads itself")
	}
	return nil
}

// mintFor prints the name of an intent.
func mintFor(ctx context.Context, cmd *cobra.Command, format keygen.Format, o *mintOptions) error {
	if o.stream != "" {
		named, err := o.client.NameInStream(ctx, string(o.stream), string(o.intent))
		if err != nil {
			return err
		}
		return printAnswer(cmd.OutOrStdout(), named, named.Name, format, o.json)
	}
	var r api.IntentRequest
	if o.payload != "" {
		sum, err := fingerprint(cmd.InOrStdin(), string(o.payload))
		if err != nil {
			return err
		}
		r.Fingerprint = &sum
	}
	if o.retain != 0 {
		r.Retain = new(api.Duration(o.retain))
	}
	named, err := o.client.NameIntent(ctx, string(o.intent), r)
	if err != nil {
		return err
	}
	return printAnswer(cmd.OutOrStdout(), named, named.Name, format, o.json)
}

// printAnswer writes the name of an answer, or all of it as JSON.
func printAnswer(w io.Writer, answer any, name keygen.Name, format keygen.Format, asJSON bool) error {
	if asJSON {
		return printJSON(w, answer)
	}
	rendered, err := name.Render(format)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(w, rendered)
	return err
}

// text is a flag's value that is not empty: an empty one comes from a variable that
// is not set, and would be the same for all that lack it.
type text string

func (t *text) String() string { return string(*t) }

func (t *text) Type() string { return "text" }

func (t *text) Set(value string) error {
	if value == "" {
		return errors.New("it is empty")
	}
	*t = text(value)
	return nil
}

// retain is a flag's value: a time to be remembered for.
type retain time.Duration

func (r *retain) String() string {
	if *r == 0 {
		return ""
	}
	return time.Duration(*r).String()
}

func (r *retain) Type() string { return "time" }

func (r *retain) Set(value string) error {
	d, err := time.ParseDuration(value)
	if err != nil || d <= 0 {
		return errors.New("want a time such as 48h or 90m")
	}
	*r = retain(d)
	return nil
}
