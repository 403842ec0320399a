package cdf3

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// ErrNotCDF means that a file is not a classic netCDF file: it has another magic number
// or is too short to have one. Errors that wrap it name what the file seems to be.
var ErrNotCDF = errors.New("cdf3: not a classic netCDF file")

// FormatError reports damage in the header of a classic netCDF file and its place.
type FormatError struct {
	Off  int64  // offset in the file of the field at fault, in bytes
	what string // the part of the header, such as `variable 3 "temp"`
	Msg  string // the cause, with expected and found values
}

func (e *FormatError) Error() string {
	return "cdf3: " + e.what + ", at byte " + strconv.FormatInt(e.Off, 10) + ": " + e.Msg
}

// quote quotes a name from a file for an error message and shortens it.
func quote(name string) string {
	const most = 64
	if len(name) > most {
		return strconv.QuoteToASCII(name[:most]) + "..."
	}
	return strconv.QuoteToASCII(name)
}

const hdf5Magic = "\x89HDF\r\n\x1a\n"

// others are the magic numbers of files that users mistake for netCDF.
var others = []struct{ magic, hint string }{
	{"\x0e\x03\x13\x01", "it is an HDF4 file"},
	{"\xcd\xf3\x00\x01", "it is a NASA CDF file, another format of a similar name"},
	{"\xcd\xf2\x60\x02", "it is a NASA CDF file, another format of a similar name"},
	{"\x1f\x8b", "it is compressed by gzip: uncompress it first"},
	{"\x1f\x9d", "it is compressed by compress: uncompress it first"},
	{"BZh", "it is compressed by bzip2: uncompress it first"},
	{"\xfd7zXZ\x00", "it is compressed by xz: uncompress it first"},
	{"\x28\xb5\x2f\xfd", "it is compressed by zstd: uncompress it first"},
	{"PK\x03\x04", "it is a ZIP file"},
	{"GRIB", "it is a GRIB file"},
	{"netcdf ", "it is CDL text: make a netCDF file of it with ncgen"},
}

// notCDF explains why a file that does not begin with a classic magic number is
// refused. start holds its first bytes, at most 8.
func notCDF(r io.ReaderAt, size int64, start []byte) error {
	if size <= 0 {
		return fmt.Errorf("%w: the file is empty", ErrNotCDF)
	}
	if size < magicLen {
		return fmt.Errorf("%w: the file is %d bytes long, shorter than the magic number", ErrNotCDF, size)
	}
	if bytes.HasPrefix(start, []byte("CDF")) {
		return fmt.Errorf("%w: format version %d at byte 3, expected 1, 2 or 5", ErrNotCDF, start[3])
	}
	// An HDF5 superblock is at 0, or after a user block at 512, 1024, ... (HDF5 File
	// Format Specification, II.A).
	for off := int64(0); off <= size-int64(len(hdf5Magic)); off = max(512, 2*off) {
		var b [len(hdf5Magic)]byte
		if err := readFull(r, b[:], off); err != nil {
			return err
		}
		if string(b[:]) == hdf5Magic {
			return fmt.Errorf("%w: it is a netCDF-4/HDF5 file; `nccopy -k classic` converts it if its contents fit the classic model", ErrNotCDF)
		}
		if off > 1<<61 {
			break
		}
	}
	for _, o := range others {
		if bytes.HasPrefix(start, []byte(o.magic)) {
			return fmt.Errorf("%w: %s", ErrNotCDF, o.hint)
		}
	}
	return fmt.Errorf("%w: it begins with % x, expected 43 44 46 and 01, 02 or 05", ErrNotCDF, start[:magicLen])
}

// readFull fills p from off. A full read is a success whatever error comes with it,
// since an io.ReaderAt may return io.EOF with the last bytes. Errors are wrapped. A
// source that ends early is io.ErrUnexpectedEOF.
func readFull(r io.ReaderAt, p []byte, off int64) error {
	n, err := r.ReadAt(p, off)
	if n >= len(p) {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("cdf3: cannot read the file, at byte %d: %w", off+int64(n), err)
}
