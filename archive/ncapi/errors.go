package ncapi

import (
	"errors"
	"io"
	"os"

	"github.com/batchatco/go-native-netcdf/netcdf"
	"github.com/batchatco/go-native-netcdf/netcdf/cdf"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cdf3"
)

// openError marks the error of a file that cannot be opened with the matching error of
// netcdf.Open, which depends on the first bytes of the file.
func openError(name string, err error) error {
	if !errors.Is(err, cdf3.ErrNotCDF) {
		return damage(err)
	}
	var b [4]byte
	if f, err := os.Open(name); err == nil {
		io.ReadFull(f, b[:])
		f.Close()
	}
	like := netcdf.ErrUnknown
	switch {
	case string(b[:3]) == "CDF":
		like = cdf.ErrUnknownVersion
	case b[0] == 'C':
		like = cdf.ErrNotCDF
	}
	return &likeError{err, like}
}

// likeError is an error of packages archive or cdf3 that also matches the library's
// error for the case.
type likeError struct {
	error
	like error
}

// Unwrap returns both.
func (e *likeError) Unwrap() []error { return []error{e.error, e.like} }

// damage marks errors about damaged files.
func damage(err error) error {
	var format *cdf3.FormatError
	switch {
	case errors.Is(err, archive.ErrCorrupt), errors.As(err, &format):
		return &likeError{err, cdf.ErrCorruptedFile}
	case errors.Is(err, archive.ErrVersion):
		return &likeError{err, cdf.ErrUnsupportedVersion}
	}
	return err
}
