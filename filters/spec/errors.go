package spec

import (
	"errors"
	"fmt"
)

// Errors of this package. Test for them with errors.Is. For an id that is too large,
// the error is [filters.ErrFilterID].
var (
	// ErrSpec reports text that is not a filter specification.
	ErrSpec = errors.New("filters: bad filter specification")
	// ErrConstRange reports a constant that does not fit the type of its tag.
	ErrConstRange = errors.New("filters: constant out of range")
)

// specError is an error with a text that matches one of the errors above.
type specError struct {
	kind error
	msg  string
}

func (e *specError) Error() string        { return "filters: " + e.msg }
func (e *specError) Is(target error) bool { return target == e.kind }

func errorf(kind error, format string, args ...any) error {
	return &specError{kind, fmt.Sprintf(format, args...)}
}
