package filters

import (
	"errors"
	"fmt"
)

// Errors of this package. Test for them with errors.Is.
var (
	// ErrUnknownFilter is matched by [*UnknownFilterError].
	ErrUnknownFilter = errors.New("filters: unknown filter")
	// ErrFilterID reports a filter id above [MaxID], or one registered twice.
	ErrFilterID = errors.New("filters: bad filter id")
	// ErrParam reports wrong parameters of a filter, a filter that does not suit the
	// blocks, or a chain that is too long.
	ErrParam = errors.New("filters: bad parameter")
	// ErrDecodedSize reports a block that decodes to the wrong number of bytes.
	ErrDecodedSize = errors.New("filters: wrong decoded size")
	// ErrChecksum reports a wrong checksum inside a block.
	ErrChecksum = errors.New("filters: checksum mismatch")
	// ErrDamaged reports a block that the filter cannot have written.
	ErrDamaged = errors.New("filters: damaged block")
	// ErrWhole reports a range of a block that can only be decoded whole.
	ErrWhole = errors.New("filters: block can only be decoded whole")
	// ErrNoCodec reports a filter without a Zarr codec, or a codec without a filter.
	ErrNoCodec = errors.New("filters: no codec")
	// ErrNoCodecID reports codec JSON without an "id".
	ErrNoCodecID = errors.New("filters: codec without id")
	// ErrCodec reports codec JSON with wrong keys or values.
	ErrCodec = errors.New("filters: bad codec")
)

// UnknownFilterError reports a filter that is not registered.
type UnknownFilterError struct {
	ID     uint32
	Params []uint32
	Name   string // from the chain, else from the registry, else empty
}

func (e *UnknownFilterError) Error() string {
	name := e.Name
	if name == "" {
		name = "no registered name"
	}
	return fmt.Sprintf("filters: unknown filter %s (%s)", Filter{ID: e.ID, Params: e.Params}, name)
}

// Is reports whether target is [ErrUnknownFilter].
func (e *UnknownFilterError) Is(target error) bool { return target == ErrUnknownFilter }

// filterError is an error with a text that matches one of the errors above.
type filterError struct {
	kind  error
	msg   string
	cause error
}

func (e *filterError) Error() string {
	if e.cause != nil {
		return "filters: " + e.msg + ": " + e.cause.Error()
	}
	return "filters: " + e.msg
}

func (e *filterError) Is(target error) bool { return target == e.kind }
func (e *filterError) Unwrap() error        { return e.cause }

// errorf makes an error of the given kind; the text gets the package's prefix.
func errorf(kind error, format string, args ...any) error {
	return &filterError{kind: kind, msg: fmt.Sprintf(format, args...)}
}

// causef is errorf for an error returned by a library.
func causef(kind, cause error, format string, args ...any) error {
	return &filterError{kind: kind, msg: fmt.Sprintf(format, args...), cause: cause}
}
