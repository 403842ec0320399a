//go:build !linux

package atomicfile

import (
	"errors"
	"os"
)

func openUnnamed(dir, path string) (*os.File, error) { return nil, errors.ErrUnsupported }

func nameUnnamed(*os.File, string) error { return errors.ErrUnsupported }

func procPath(*os.File) string { return "" }

// startFlush does nothing, since other systems have no call for it.
func startFlush(*os.File, int64, int64) {}

func renameFree(from, to string) error { return errors.ErrUnsupported }
