package fileio

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/archive/volume"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
)

// kind is a kind of file, determined by its first bytes.
type kind string

const (
	kindClassic kind = "a classic netCDF file"
	kindArchive kind = "a cdfz archive"
	kindEmpty   kind = "empty"
	kindHDF5    kind = "netCDF-4 (HDF5)"
	kindGzip    kind = "compressed with gzip"
	kindBzip2   kind = "compressed with bzip2"
	kindXz      kind = "compressed with xz"
	kindZstd    kind = "compressed with zstd"
	kindOther   kind = "not netCDF"
)

// magics lists the first bytes of kinds of files.
var magics = []struct {
	magic string
	kind  kind
}{
	{"CDF\x01", kindClassic}, {"CDF\x02", kindClassic}, {"CDF\x05", kindClassic},
	{"\x89HDF\r\n\x1a\n", kindHDF5},
	{"\x1f\x8b", kindGzip}, {"BZh", kindBzip2}, {"\xfd7zXZ\x00", kindXz}, {"\x28\xb5\x2f\xfd", kindZstd},
}

// archiveHead is the name of the first entry of an archive, at offset archiveHeadOff.
const (
	archiveHead    = ".cdfz/plan.json"
	archiveHeadOff = 30
)

// sniff determines the kind of a file from its first bytes. An error is a read error.
func sniff(r io.ReaderAt) (kind, error) {
	var b [archiveHeadOff + len(archiveHead)]byte
	n, err := r.ReadAt(b[:], 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	if n == 0 {
		return kindEmpty, nil
	}
	for _, m := range magics {
		if bytes.HasPrefix(b[:n], []byte(m.magic)) {
			return m.kind, nil
		}
	}
	if n == len(b) && string(b[:2]) == "PK" && string(b[archiveHeadOff:]) == archiveHead {
		return kindArchive, nil
	}
	return kindOther, nil
}

// ErrEmpty reports a file without bytes that is named as an archive: it has lost them. No program makes such a
// file on purpose.
var ErrEmpty = fmt.Errorf("%w: the file is empty", archive.ErrCorrupt)

// emptyArchive returns ErrEmpty for such a file.
func emptyArchive(in *Input) error {
	if _, err := StripSuffix(in.Name); err != nil || in.Size != 0 {
		return nil
	}
	return terminal.Hinted(ErrEmpty, "nothing can be restored from it; a second copy or the source may exist")
}

// HealsVolume is the advice for a damaged member of a volume: its parity is beside the volume.
const HealsVolume = "cdfz repair -o NEW" + volume.Suffix + " VOLUME heals the volume if it has parity"

// ExplainNotArchive adds the kind of a file to the error that it is not an archive.
func ExplainNotArchive(in *Input, err error) error {
	var format *cdf3.FormatError // a damaged classic file
	if lost := emptyArchive(in); lost != nil {
		return lost
	}
	switch {
	case errors.Is(err, archive.ErrCorrupt): // also an archive of a malformed netCDF header
		advice := "cdfz repair rebuilds the end of an archive; "
		if in.IsMember() {
			advice = HealsVolume + "; "
		}
		return terminal.Hinted(err, "%s", advice+"cdfz restore --salvage restores what is intact")
	case errors.Is(err, archive.ErrNotArchive), errors.As(err, &format):
		k, readErr := sniff(in.R)
		if readErr != nil {
			return readErr
		}
		err = archive.ErrNotArchive
		switch k {
		case kindEmpty:
			return fmt.Errorf("%w: the file is empty", err)
		case kindClassic:
			return terminal.Hinted(fmt.Errorf("%w: it is a classic netCDF file", err), "cdfz archive makes an archive from it")
		case kindHDF5:
			return terminal.Hinted(fmt.Errorf("%w: it is a netCDF-4 (HDF5) file", err), "nccopy -k classic converts it for cdfz archive")
		case kindOther, kindArchive:
			return err
		}
		return fmt.Errorf("%w: it is %s", err, k)
	}
	return err
}

// ExplainDamage adds advice to an error of damage in an open archive or dataset, which in has. If there is parity,
// repair comes first: it may heal what the other advice gives up.
func ExplainDamage(err error, in *Input, f *archive.File, advice string) error {
	if !errors.Is(err, archive.ErrCorrupt) {
		return err
	}
	switch info, ok := f.Info(); {
	case !ok: // joined files
		advice = "cdfz repair may heal an archive that has parity; " + advice
	case in.IsMember():
		advice = HealsVolume + "; " + advice
	case info.Parity:
		advice = "the archive has parity, from which cdfz repair may heal it; " + advice
	}
	return terminal.Hinted(err, "%s", advice)
}

// ExplainNotNetCDF adds the kind of a file to the error that it is neither an archive nor a
// classic netCDF file. Errors of damaged files stay as they are.
func ExplainNotNetCDF(in *Input, err error) error {
	if lost := emptyArchive(in); lost != nil {
		return lost
	}
	if !errors.Is(err, archive.ErrNotArchive) {
		if errors.Is(err, archive.ErrCorrupt) {
			return ExplainNotArchive(in, err)
		}
		return err
	}
	k, readErr := sniff(in.R)
	if readErr != nil {
		return readErr
	}
	var found string
	switch k {
	case kindEmpty:
		found = "an empty file"
	case kindHDF5:
		found = "a netCDF-4 (HDF5) file"
	case kindClassic, kindArchive, kindOther:
		var b [4]byte
		n, readErr := in.R.ReadAt(b[:], 0)
		if readErr != nil && !errors.Is(readErr, io.EOF) {
			return readErr
		}
		found = fmt.Sprintf("a file that begins with % x", b[:n])
	default:
		found = "a file " + string(k)
	}
	err = &notNetCDF{"expected a cdfz archive or a classic netCDF file, found " + found, err}
	if k == kindHDF5 {
		return terminal.Hinted(err, "nccopy -k classic converts it")
	}
	return err
}

// notNetCDF is an error of the class of its cause, with another text.
type notNetCDF struct {
	text  string
	cause error
}

func (e *notNetCDF) Error() string { return e.text }
func (e *notNetCDF) Unwrap() error { return e.cause }

// RefuseArchive returns an error if the input is already an archive.
func RefuseArchive(in *Input) error {
	ours, err := archive.IsArchive(in.R, in.Size)
	if err != nil {
		return err
	}
	if ours {
		return terminal.Hinted(terminal.Lasting(errors.New("is already a cdfz archive")), "cdfz restore restores its netCDF file")
	}
	return nil
}
