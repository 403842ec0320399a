// Package fault defines the errors of archives: their classes, the error of a damaged
// block, and errors with the name of the file. Package archive exports the classes. It
// imports nothing of this module.
package fault

import (
	"errors"
	"fmt"
	"io"
	"strings"
)

// The classes of errors. Errors of the source or the sink are wrapped and belong to
// no class. Input that is not a classic netCDF file is cdf3.ErrNotCDF or a
// *cdf3.FormatError.
var (
	// ErrNotArchive reports a file with neither the head nor the tail of a cdfz
	// archive.
	ErrNotArchive = errors.New("not a cdfz archive")
	// ErrVersion reports an archive that needs a newer reader. The text names the
	// feature.
	ErrVersion = errors.New("archive needs a newer reader")
	// ErrCorrupt reports an archive with damaged bytes.
	ErrCorrupt = errors.New("damaged archive")
	// ErrMemory reports a block that is not decoded, because that needs too much memory.
	ErrMemory = errors.New("block needs too much memory")
	// ErrChanged reports a source that changed while being archived, or reads
	// differently each time.
	ErrChanged = errors.New("source changed while being archived")
	// ErrOptions reports options that contradict each other or the file.
	ErrOptions = errors.New("invalid options")
)

// BlockError reports a damaged block. It is archive.BlockError.
type BlockError struct {
	File      string      // name of the file, "" if unknown
	Block     int64       // global block number
	Var       string      // name of the variable, path of the pool, "" for the rest
	Start     []int64     // first index of the block in each dimension; nil for a pool and for the rest
	Count     []int64     // number of indices of the block in each dimension
	Parts     []BlockPart // for a pool: the variables in the block, if the netCDF header is sound
	RestOff   int64       // for the rest: offset of the block in it
	StoredOff int64       // archive offset of the stored bytes, -1 if unknown
	Err       error
}

// BlockPart is the part of a variable that lies in a block of a pool, as an index range. It is
// archive.BlockPart.
type BlockPart struct {
	Var          string
	Start, Count []int64
}

// namedParts is how many variables of a pool an error names.
const namedParts = 3

// Error names the block by its content and its place.
func (e *BlockError) Error() string {
	s := "archive: "
	if e.File != "" {
		s += e.File + ": "
	}
	switch {
	case e.Start != nil:
		s += fmt.Sprintf("variable %q%s (block %d", e.Var, indexRange(e.Start, e.Count), e.Block)
	case e.Var != "":
		s += e.pooled() + fmt.Sprintf(" (block %d", e.Block)
	default:
		s += fmt.Sprintf("header or rest from its byte %d (block %d", e.RestOff, e.Block)
	}
	if e.StoredOff >= 0 {
		s += fmt.Sprintf(" at byte %d", e.StoredOff)
	}
	return s + "): " + e.Err.Error()
}

// pooled names the first variables in a block of a pool.
func (e *BlockError) pooled() string {
	if len(e.Parts) == 0 {
		return e.Var
	}
	s := "variable "
	if len(e.Parts) > 1 {
		s = "variables "
	}
	for i, p := range e.Parts[:min(len(e.Parts), namedParts)] {
		if i > 0 {
			s += ", "
		}
		s += fmt.Sprintf("%q%s", p.Var, indexRange(p.Start, p.Count))
	}
	if more := len(e.Parts) - namedParts; more > 0 {
		s += fmt.Sprintf(" and %d more", more)
	}
	return s
}

// Unwrap returns the cause.
func (e *BlockError) Unwrap() error { return e.Err }

// indexRange prints [0:10, 5:6] for the half-open ranges of a block.
func indexRange(start, count []int64) string {
	s := "["
	for i := range start {
		if i > 0 {
			s += ", "
		}
		s += fmt.Sprintf("%d:%d", start[i], start[i]+count[i])
	}
	return s + "]"
}

func Corruptf(format string, args ...any) error {
	return fmt.Errorf("archive: "+format+": %w", append(args, ErrCorrupt)...)
}

func Optionsf(format string, args ...any) error {
	return fmt.Errorf("archive: "+format+": %w", append(args, ErrOptions)...)
}

// WriteFull writes all of p. It is an error if w takes less without an error.
func WriteFull(w io.Writer, p []byte) error {
	n, err := w.Write(p)
	if err == nil && n < len(p) {
		err = io.ErrShortWrite
	}
	if err != nil {
		return fmt.Errorf("archive: writing: %w", err)
	}
	return nil
}

// fileError adds the name of a file to an error.
type fileError struct {
	name string
	err  error
}

func (e *fileError) Error() string {
	return "archive: " + e.name + ": " + strings.TrimPrefix(e.err.Error(), "archive: ")
}

func (e *fileError) Unwrap() error { return e.err }

func WithName(name string, err error) error {
	if name == "" {
		return err
	}
	return &fileError{name, err}
}
