package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/opmint/opmint/keygen"
	"github.com/opmint/opmint/tpm"
)

// origin is what an identity is made of.
type origin struct {
	ek          [32]byte // fingerprint of the endorsement key
	incarnation [32]byte // of the NV index
	minter      minter
}

func (o origin) identity() keygen.Identity {
	return keygen.NewIdentity(o.ek, o.incarnation, o.minter)
}

// openCounter returns the counter, which it defines if it is missing, and the
// endorsement key's fingerprint and the incarnation.
func openCounter(ctx context.Context, cfg tpm.CounterConfig, s *state) (*tpm.Counter, origin, error) {
	var o origin
	var err error
	if cfg.EK.Template, err = s.template(); err != nil {
		return nil, o, err
	}
	ek, err := cfg.Device.EndorsementKey(ctx, cfg.EK)
	if err != nil {
		return nil, o, err
	}
	if ek.Template != cfg.EK.Template {
		if err := s.write(templateFile, []byte(ek.Template+"\n")); err != nil {
			return nil, o, err
		}
	}
	o.ek, cfg.EK.Template = ek.Fingerprint, ek.Template
	counter, err := tpm.NewCounter(cfg)
	if err != nil {
		return nil, o, err
	}
	if err := counter.Define(ctx); err != nil {
		return nil, o, advise(err)
	}
	o.incarnation, err = counter.Incarnation(ctx)
	return counter, o, err
}

// advise adds to an error what to do about it.
func advise(err error) error {
	if errors.Is(err, tpm.ErrOwnerAuth) {
		return fmt.Errorf("%w; give it to the daemon, or define the counter with `opmint provision`", err)
	}
	return err
}

// template returns the template that the endorsement key was made from first, or
// "" if there was none yet. A TPM may learn another one with new firmware, and
// then the same template must give the same key.
func (s *state) template() (string, error) {
	data, err := s.read(templateFile, len(tpm.TemplateRSA)+1)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	template := strings.TrimSuffix(string(data), "\n")
	if template != tpm.TemplateECC && template != tpm.TemplateRSA {
		return "", fmt.Errorf("%s is damaged: want %s or %s; remove it, and the daemon chooses again",
			filepath.Join(s.dir, templateFile), tpm.TemplateECC, tpm.TemplateRSA)
	}
	return template, nil
}
