//go:build !unix

package vtpmdetect

import (
	"errors"
	"io/fs"
	"os"
)

func deviceNumber(fs.FileInfo) (major, minor uint32, ok bool) { return 0, 0, false }

func mapPage(*os.File, int) ([]byte, error) { return nil, errors.ErrUnsupported }

func unmap([]byte) {}
