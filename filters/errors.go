package filters

import (
	"errors"
	"fmt"
)

// Errors of this package. Test for them with errors.Is.
var (
	// ErrUnknownFilter is matched by [*UnknownFilterError].
	ErrUnknownFilter = errors.New("filters: unknown filter")
	// ErrFilterID: a filter id above [MaxID], or an id that is registered twice.
	ErrFilterID = errors.New("filters: bad filter id")
	// ErrParam: wrong number or range of a filter's parameters, a filter that does
	// not suit the blocks, or a chain that is too long.
	ErrParam = errors.New("filters: bad parameter")
	// ErrDecodedSize: a block decodes to more or fewer bytes than it must.
	ErrDecodedSize = errors.New("filters: wrong decoded size")
	// ErrChecksum: a checksum inside the block does not match.
	ErrChecksum = errors.New("filters: checksum mismatch")
	// ErrDamaged: the filter cannot have written the block.
	ErrDamaged = errors.New("filters: damaged block")
	// ErrWhole: a range of a block that can only be decoded whole.
	ErrWhole = errors.New("filters: block can only be decoded whole")
	// ErrNoCodec: no Zarr codec undoes a filter, or no filter is known for a
	// codec.
	ErrNoCodec = errors.New("filters: no codec")
	// ErrNoCodecID: codec JSON without an "id".
	ErrNoCodecID = errors.New("filters: codec without id")
	// ErrCodec: codec JSON whose keys or values are wrong.
	ErrCodec = errors.New("filters: bad codec")
)

// UnknownFilterError names a filter that is not registered.
type UnknownFilterError struct {
	ID     uint32
	Params []uint32
	Name   string // the chain's name for it, else the registry's, else empty
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

// filterError is an error with its own text that matches one of the errors above.
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

// causef is errorf for an error that a library returned.
func causef(kind, cause error, format string, args ...any) error {
	return &filterError{kind: kind, msg: fmt.Sprintf(format, args...), cause: cause}
}
