//go:build !unix

package tpm

import (
	"context"
	"errors"
	"fmt"
)

// Here are no device files; a TPM on a socket can be asked.

func openCharDevice(path string) (wire, error) {
	return nil, fmt.Errorf("open TPM %s: device files are for Unix: %w", path, errors.ErrUnsupported)
}

func lockFolder(context.Context, string) (unlock func(), err error) {
	return nil, fmt.Errorf("lock the state folder: that is for Unix: %w", errors.ErrUnsupported)
}
