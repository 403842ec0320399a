// Package wire holds code that all filters share: errors, appending to buffers, numbers
// of any width, and the memory between filters. It imports nothing of this module.
package wire

import (
	"errors"
	"fmt"
)

// The kinds of errors. Package filters exports them.
var (
	ErrParam        = errors.New("filters: bad parameter")
	ErrInapplicable = fmt.Errorf("%w: the filter does not apply to such blocks", ErrParam)
	ErrRounds       = fmt.Errorf("%w: values would be rounded", ErrParam)
	ErrDecodedSize  = errors.New("filters: wrong decoded size")
	ErrChecksum     = errors.New("filters: checksum mismatch")
	ErrDamaged      = errors.New("filters: damaged block")
	ErrUnavailable  = errors.New("filters: filter unavailable")
	ErrCodec        = errors.New("filters: bad codec")
)

// kindError is an error with a text that matches one of the errors above.
type kindError struct {
	kind  error
	msg   string
	cause error
}

func (e *kindError) Error() string {
	if e.cause != nil {
		return "filters: " + e.msg + ": " + e.cause.Error()
	}
	return "filters: " + e.msg
}

func (e *kindError) Is(target error) bool { return errors.Is(e.kind, target) }
func (e *kindError) Unwrap() error        { return e.cause }

// Errorf makes an error of the given kind. Its text gets the prefix of package filters.
func Errorf(kind error, format string, args ...any) error {
	return &kindError{kind: kind, msg: fmt.Sprintf(format, args...)}
}

// Causef is Errorf for an error returned by a library.
func Causef(kind, cause error, format string, args ...any) error {
	return &kindError{kind: kind, msg: fmt.Sprintf(format, args...), cause: cause}
}

// Damaged is Errorf for [ErrDamaged].
func Damaged(format string, args ...any) error { return Errorf(ErrDamaged, format, args...) }

// TooLong is the [ErrDecodedSize] of a block that decodes to more than max bytes.
func TooLong[T int | uint32 | uint64](name string, max int, found T) error {
	return Errorf(ErrDecodedSize, "%s: expected at most %d bytes, found %d", name, max, found)
}
