package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/opmint/opmint/api"
	"github.com/opmint/opmint/tpm"
)

// tpmFlags are the flags, the same as opmintd's, of a command that opens the TPM
// itself.
type tpmFlags struct {
	address         string
	index           nvIndex
	state           pathFlag
	ownerFile       pathFlag
	endorsementFile pathFlag
}

func (f *tpmFlags) register(cmd *cobra.Command) {
	f.registerPlaces(cmd)
	flags := cmd.Flags()
	flags.Var(&f.ownerFile, "owner-auth-file", "file with the owner's authorization value, or - for stdin")
	flags.Var(&f.endorsementFile, "endorsement-auth-file", "the same of the endorsement hierarchy")
}

// registerPlaces declares those that say where things are. Besides those that
// tpm.Open knows, addresses can be the words given.
func (f *tpmFlags) registerPlaces(cmd *cobra.Command, words ...string) {
	f.index = tpm.DefaultIndex
	flags := cmd.Flags()
	addresses := append([]string{tpm.Auto}, words...)
	flags.StringVar(&f.address, "tpm", tpm.Auto, strings.Join(addresses, ", ")+", a device, unix:PATH or tcp:HOST:PORT")
	flags.Var(&f.index, "nv-index", "where in the TPM the counter is")
	flags.Var(&f.state, "state", "the state folder")
	completeFlag(cmd, "tpm", append(addresses, "/dev/tpmrm0", "unix:", "tcp:"))
	completeFlag(cmd, "nv-index", []string{f.index.String()})
}

// open returns the TPM, to be closed by the caller, and what is known of the
// counter. It asks the TPM nothing yet.
func (f *tpmFlags) open() (tpm.CounterConfig, error) {
	cfg := tpm.CounterConfig{Index: uint32(f.index), StateDir: string(f.state)}
	var err error
	if cfg.StateDir == "" {
		if cfg.StateDir, err = api.StateFolder(); err != nil {
			return cfg, err
		}
	}
	for _, auth := range []struct {
		file pathFlag
		into *[]byte
	}{{f.ownerFile, &cfg.OwnerAuth}, {f.endorsementFile, &cfg.EK.Auth}} {
		if auth.file == "" {
			continue
		}
		if *auth.into, err = tpm.ReadAuthValue(string(auth.file)); err != nil {
			return cfg, err
		}
	}
	cfg.Device, err = tpm.Open(f.address)
	return cfg, err
}

// nvIndex is the handle of an NV index as the value of a flag.
type nvIndex uint32

func (i *nvIndex) String() string { return fmt.Sprintf("0x%08x", uint32(*i)) }

func (i *nvIndex) Type() string { return "index" }

func (i *nvIndex) Set(text string) error {
	n, err := tpm.ParseIndex(text)
	if err == nil {
		*i = nvIndex(n)
	}
	return err
}

// pathFlag is a path as the value of a flag. An empty one comes from a variable
// that is not set, and must not be taken for the default.
type pathFlag string

func (p *pathFlag) String() string { return string(*p) }

func (p *pathFlag) Type() string { return "path" }

func (p *pathFlag) Set(text string) error {
	if text == "" {
		return errors.New("the path is empty")
	}
	*p = pathFlag(text)
	return nil
}
