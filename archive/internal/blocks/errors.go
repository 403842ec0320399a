package blocks

import (
	"context"
	"errors"
	"fmt"

	"github.com/cdfz-format/cdfz/archive/internal/fault"
	"github.com/cdfz-format/cdfz/archive/internal/plan"
)

// Corrupt adds ErrCorrupt to an error of a lower layer that means damage.
func Corrupt(err error) error {
	if errors.Is(err, fault.ErrCorrupt) || errors.Is(err, fault.ErrVersion) {
		return err
	}
	return fmt.Errorf("%w: %w", err, fault.ErrCorrupt)
}

// blockError names a block by variable and index range.
func (a *Reader) blockError(b plan.Block, storedOff int64, err error) error {
	e := plan.NewBlockError(a.L, a.Header, b.Var, b.B, storedOff, err)
	e.File = a.name
	return e
}

// readError wraps an error of reading stored bytes.
func (a *Reader) readError(err error) error {
	return fault.WithName(a.name, fmt.Errorf("archive: %w", err))
}

// WhyDone returns the error of the caller's context if it has ended, else the cause of
// work, a derived context that has ended.
func WhyDone(caller, work context.Context) error {
	if err := caller.Err(); err != nil {
		return err
	}
	return context.Cause(work)
}
