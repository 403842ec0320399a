package terminal

import (
	"errors"
	"io/fs"
	"syscall"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/internal/jsonlines"
	"github.com/cdfz-format/cdfz/internal/nofollow"
)

// Exit codes. They are part of the program's interface and never change.
const (
	ExitDone    = 0
	ExitFailed  = 1
	ExitUsage   = 2
	ExitDamaged = 3
	// ExitLasting means that all failures are lasting: the same command will fail again until somebody
	// changes a file, a permission or the command.
	ExitLasting = 4
	// ExitBusy means that another run is at work, and that the user does not want to wait for it.
	ExitBusy = 5
)

// ErrBusy is the error of a file that another run has for itself. With -q, it is not printed.
var ErrBusy = errors.New("another program is at work with this file")

// ExitText describes the exit codes in help and manual pages.
const ExitText = `0 success, 1 failure, 2 wrong usage, 3 damaged archive, receipts or catalogue,
4 failures that the same command will have again: no permission, another kind of file,
a damaged netCDF header, a target that exists,
5 another run is at work (only with --no-wait),
130 interrupted (or 128 + the number of another signal).
With several files, 3 goes before 1, 1 before 4, and 4 before 5.`

// rank orders exit codes: that of a run is the highest of those of its files. A failure that may pass is
// above the lasting ones, so that a scheduler begins the run again.
func rank(code int) int {
	switch code {
	case ExitDone:
		return 0
	case ExitBusy:
		return 1
	case ExitLasting:
		return 2
	case ExitFailed:
		return 3
	}
	return 4 + code
}

// Worse returns the exit code of two of a run that had both.
func Worse(a, b int) int {
	if rank(b) > rank(a) {
		return b
	}
	return a
}

// SetCode raises the exit code.
func (p *Printer) SetCode(code int) { p.code = Worse(p.code, code) }

// lastingError marks an error that will come again.
type lastingError struct{ error }

func (e *lastingError) Unwrap() error { return e.error }

// Lasting marks an error that the same command will have again.
func Lasting(err error) error { return &lastingError{err} }

// lasting are errors that the same command will have again. A missing file is not among them, because a
// file system that is not mounted yet has none, and neither is a full or a read-only disk.
var lasting = []error{
	fs.ErrPermission, fs.ErrExist, syscall.EISDIR, syscall.ENOTDIR, syscall.ENAMETOOLONG, syscall.ELOOP,
	nofollow.ErrLink, nofollow.ErrNotFolder, nofollow.ErrNotRegular, jsonlines.ErrKind,
	cdf3.ErrNotCDF, archive.ErrNotArchive, archive.ErrVersion, archive.ErrOptions,
}

// IsLasting reports whether the same command will have an error again. Damaged archives are left out: they
// have an exit code of their own.
func IsLasting(err error) bool {
	var marked *lastingError
	var header *cdf3.FormatError
	if errors.As(err, &marked) || errors.As(err, &header) {
		return true
	}
	for _, e := range lasting {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// codeOf returns the exit code of an error of a file.
func codeOf(err error) int {
	switch {
	case errors.Is(err, archive.ErrCorrupt):
		return ExitDamaged
	case errors.Is(err, ErrBusy):
		return ExitBusy
	case IsLasting(err):
		return ExitLasting
	}
	return ExitFailed
}
