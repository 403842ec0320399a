//go:build !linux || !(amd64 || arm64)

package hdf5plugin

import "errors"

// shared is never used.
type shared struct{ mem []byte }

func (s *shared) grow(uint64) error { return errors.ErrUnsupported }
func (s *shared) free()             {}
