package spec

import (
	"errors"
	"fmt"
)

// Errors of this package. Test for them with errors.Is. For an id that is too large,
// the error is [filters.ErrFilterID]. All of them are an [*Error].
var (
	// ErrSpec reports text that is not a filter specification.
	ErrSpec = errors.New("filters: bad filter specification")
	// ErrConstRange reports a constant that does not fit the type of its tag.
	ErrConstRange = errors.New("filters: constant out of range")
)

// Error is a mistake in a filter specification.
type Error struct {
	// Col is the place of the mistake: a byte of the text that was parsed, from 1.
	Col   int
	msg   string
	kind  error
	cause error // of package filters, or nil
}

func (e *Error) Error() string { return fmt.Sprintf("filters: column %d: %s", e.Col, e.msg) }

// Is reports whether target is the kind of the mistake.
func (e *Error) Is(target error) bool { return target == e.kind }

// Unwrap returns the error of package filters about a codec.
func (e *Error) Unwrap() error { return e.cause }

// errorAt makes an error of the given kind. at is an offset in the text, from 0.
func errorAt(kind error, at int, format string, args ...any) error {
	return &Error{Col: at + 1, kind: kind, msg: fmt.Sprintf(format, args...)}
}
