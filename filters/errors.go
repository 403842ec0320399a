package filters

import (
	"errors"
	"fmt"
	"slices"

	"github.com/cdfz-format/cdfz/filters/internal/wire"
)

// Errors of this package. Test for them with errors.Is.
var (
	// ErrUnknownFilter is matched by [*UnknownFilterError], and by the error about a codec whose filter is unknown.
	ErrUnknownFilter = errors.New("filters: unknown filter")
	// ErrFilterID reports a filter id above [MaxID], or one registered twice.
	ErrFilterID = errors.New("filters: bad filter id")
	// ErrParam reports wrong parameters of a filter, a filter that does not suit the
	// blocks, or a chain that is too long.
	ErrParam = wire.ErrParam
	// ErrInapplicable reports a filter that does not apply to the blocks, as can_apply does in
	// HDF5. It is an [ErrParam] too.
	ErrInapplicable = wire.ErrInapplicable
	// ErrRounds reports values that a filter would round, such as [Quantize]. It is an
	// [ErrParam] too.
	ErrRounds = wire.ErrRounds
	// ErrNoFilter reports that a chain does not have the requested filter.
	ErrNoFilter = errors.New("filters: no such filter in the chain")
	// ErrDecodedSize reports a block that decodes to the wrong number of bytes.
	ErrDecodedSize = wire.ErrDecodedSize
	// ErrChecksum reports a wrong checksum inside a block.
	ErrChecksum = wire.ErrChecksum
	// ErrDamaged reports a block that the filter cannot have written.
	ErrDamaged = wire.ErrDamaged
	// ErrWhole reports a range of a block that can only be decoded whole.
	ErrWhole = errors.New("filters: block can only be decoded whole")
	// ErrUnavailable reports a filter that could not do its work. The block may be intact.
	ErrUnavailable = wire.ErrUnavailable
	// ErrNoCodec reports a filter without a Zarr codec, or a codec without a filter.
	ErrNoCodec = errors.New("filters: no codec")
	// ErrNoCodecID reports codec JSON without an "id".
	ErrNoCodecID = errors.New("filters: codec without id")
	// ErrCodec reports codec JSON with wrong keys or values.
	ErrCodec = wire.ErrCodec
)

// errUnknownCodec reports the id of a codec that no filter has: a plugin may provide both.
var errUnknownCodec = errors.Join(ErrNoCodec, ErrUnknownFilter)

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
	text := fmt.Sprintf("filters: unknown filter %s (%s)", Filter{ID: e.ID, Params: e.Params}, name)
	if slices.Contains(inAll, e.ID) {
		text += ": the program does not import " + allPath
	}
	return text
}

// Is reports whether target is [ErrUnknownFilter].
func (e *UnknownFilterError) Is(target error) bool { return target == ErrUnknownFilter }

// errorf makes an error of the given kind. Its text gets the package's prefix.
func errorf(kind error, format string, args ...any) error { return wire.Errorf(kind, format, args...) }

// causef is errorf for an error returned by a library.
func causef(kind, cause error, format string, args ...any) error {
	return wire.Causef(kind, cause, format, args...)
}
