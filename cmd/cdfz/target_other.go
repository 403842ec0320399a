//go:build !linux

package main

import (
	"errors"
	"os"
)

func openUnnamed(dir, path string) (*os.File, error) { return nil, errors.ErrUnsupported }

func nameUnnamed(f *os.File, name string) error { return errors.ErrUnsupported }

// startFlush is a wish that other systems have no call for.
func startFlush(*os.File, int64, int64) {}
