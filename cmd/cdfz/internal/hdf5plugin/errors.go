package hdf5plugin

import (
	"errors"

	"github.com/cdfz-format/cdfz/filters"
)

// ErrHost reports that no process can load libraries: cdfz-plugin-host is missing, is of
// another version, or does not exist for this system.
var ErrHost = errors.New("plugins cannot be loaded")

// unavailableError is a library that could not do its work.
type unavailableError struct {
	path string
	why  string
}

func (e *unavailableError) Error() string { return "plugin: " + e.path + ": " + e.why }

// Is reports whether target is [filters.ErrUnavailable].
func (e *unavailableError) Is(target error) bool { return target == filters.ErrUnavailable }
