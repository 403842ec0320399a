package opening

import (
	"errors"
	"fmt"

	"github.com/cdfz-format/cdfz/archive/internal/fault"
	"github.com/cdfz-format/cdfz/archive/internal/plan"
	"github.com/cdfz-format/cdfz/filters"
)

// Corrupt adds ErrCorrupt to an error of a lower layer that means damage.
func Corrupt(err error) error {
	if errors.Is(err, fault.ErrCorrupt) || errors.Is(err, fault.ErrVersion) {
		return err
	}
	return fmt.Errorf("%w: %w", err, fault.ErrCorrupt)
}

// Refused reports whether an error about undoing filters says nothing about the block: its filter is
// unknown, or could not do its work. Other such errors mean damage.
func Refused(err error) bool {
	return errors.Is(err, filters.ErrUnknownFilter) || errors.Is(err, filters.ErrUnavailable)
}

// BlockError names a block by variable and index range.
func (a *Archive) BlockError(b plan.Block, storedOff int64, err error) error {
	e := plan.NewBlockError(a.L, a.Header, b.Var, b.B, storedOff, err)
	e.File = a.Name
	return e
}

// ReadError wraps an error of reading stored bytes.
func (a *Archive) ReadError(err error) error {
	return fault.WithName(a.Name, fmt.Errorf("archive: %w", err))
}
