package hdf5plugin

import (
	"fmt"

	"github.com/cdfz-format/cdfz/filters"
)

// ErrHost reports that no process can load libraries: cdfz-plugin-host is missing, is of
// another version, or does not exist for this system. It is a [filters.ErrUnavailable] too, so that
// an archive that cannot be read without it does not count as damaged.
var ErrHost error = hostError{}

type hostError struct{}

func (hostError) Error() string { return "plugins cannot be loaded" }

func (hostError) Is(target error) bool { return target == filters.ErrUnavailable }

// errorf makes an error of a kind of package filters. The kind is not part of the text, as in that package: the library
// is to blame more often than a parameter.
func errorf(kind error, format string, args ...any) error {
	return &kindError{fmt.Errorf("plugin: "+format, args...), kind}
}

type kindError struct {
	error
	kind error
}

func (e *kindError) Unwrap() []error { return []error{e.error, e.kind} }

// unavailableError is a library that could not do its work.
type unavailableError struct {
	path string
	why  string
}

func (e *unavailableError) Error() string { return "plugin: " + e.path + ": " + e.why }

// Is reports whether target is [filters.ErrUnavailable].
func (e *unavailableError) Is(target error) bool { return target == filters.ErrUnavailable }
