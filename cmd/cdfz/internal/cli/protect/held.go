// Package protect answers for all verbs whether a file may be overwritten or deleted, and what vouches
// for it.
//
//	held.go      what a file holds, and whether another one holds it, too
//	after.go     whether bytes that are no part of an archive are another file
//	replace.go   whether a new file may replace it
//	receipts.go  whether a receipt vouches for it
//	source.go    sources: whether they are there, and how they are deleted
//	remove.go    archives that are deleted
package protect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/archive/repair"
	"github.com/cdfz-format/cdfz/archive/volume"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/display"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
	"github.com/cdfz-format/cdfz/internal/filetime"
	"github.com/cdfz-format/cdfz/internal/ioat"
	"github.com/cdfz-format/cdfz/internal/nofollow"
)

// Held is what a file holds that may be replaced.
type Held struct {
	Archive bool // it is an archive, intact or damaged
	NetCDF  bool // it is a netCDF file, classic or of HDF5, intact or damaged
	Volume  bool // it is a volume, intact or damaged, which may hold many archives
	// The image of an archive, or the netCDF file itself. Name and SHA256 are empty if the archive is too damaged to
	// tell; SHA256 of a netCDF file is computed only for messages.
	Name   string
	Size   int64
	SHA256 string
	// Source is the SHA-256 of the file that was rounded to the image, or "".
	Source string
	Time   time.Time // of the file that was looked at, or of its source
	Damage error     // found on opening it
	// Followed is set if bytes after the archive are another file.
	Followed bool
	end      int64 // of the archive, in bytes
	// Changed is the advice for a new file if the existing archive holds an older state of it, or "".
	Changed string
}

// Look returns what a file holds. An archive that does not open is searched for its manifest. A
// file that has neither the head nor the tail of one is searched only if it is named like an
// archive. What begins like a netCDF file is one.
func Look(ctx context.Context, name string, r io.ReaderAt, size int64) (*Held, error) {
	h, err := look(ctx, name, r, size)
	if err == nil && h.Archive && h.end < size {
		h.Followed = HoldsFile(ctx, r, h.end, size)
		err = ctx.Err()
	}
	return h, err
}

// look is Look without what follows an archive.
func look(ctx context.Context, name string, r io.ReaderAt, size int64) (*Held, error) {
	f, err := archive.New(ctx, ioat.Live(ctx, r), size, &archive.OpenOptions{Cache: -1})
	if err == nil {
		h := HeldBy(f)
		h.NetCDF, h.end = !h.Archive, size
		return h, nil
	}
	if classic, err := isClassic(r, size); classic || err != nil {
		return &Held{NetCDF: true, Size: size}, err
	}
	if v, err := IsVolume(ctx, r, size); v || err != nil {
		return &Held{Volume: true, Size: size}, err
	}
	if hdf5, err := isHDF5(r, size); hdf5 || err != nil {
		return &Held{NetCDF: true, Size: size}, err
	}
	h, err := lookClosed(ctx, name, r, size, err)
	if err == nil && !h.Archive {
		h.Size = size
	}
	return h, err
}

// LookAt is Look for the file with the name path.
func LookAt(ctx context.Context, path string) (*Held, error) {
	st, err := os.Stat(path) // first, since opening a pipe could block
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() {
		return nil, nofollow.ErrNotRegular
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if st, err = f.Stat(); err != nil {
		return nil, err
	}
	return Look(ctx, path, f, st.Size())
}

// lookClosed is Look for a file that does not open.
func lookClosed(ctx context.Context, name string, r io.ReaderAt, size int64, cause error) (*Held, error) {
	if !errors.Is(cause, archive.ErrCorrupt) && !errors.Is(cause, archive.ErrVersion) {
		ours, err := archive.IsArchive(r, size)
		if err != nil {
			return nil, err
		}
		if !ours && !strings.HasSuffix(name, archive.Suffix) {
			return &Held{}, nil
		}
	}
	id, err := repair.Identify(ctx, r, size)
	switch {
	case errors.Is(err, archive.ErrNotArchive):
		return &Held{}, nil
	case err != nil:
		return nil, err
	}
	h := &Held{Archive: true, Damage: cause, end: size}
	if id != nil {
		h.Name, h.Size, h.SHA256, h.Source, h.end = id.Name, id.Size, id.SHA256, id.SourceSHA256, id.End
	}
	return h, nil
}

// isClassic reports whether a file begins like a classic one. The rest of it may be lost.
func isClassic(r io.ReaderAt, size int64) (bool, error) {
	b := make([]byte, min(size, 4))
	if _, err := r.ReadAt(b, 0); err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	return len(b) == 4 && string(b[:3]) == "CDF" && (b[3] == 1 || b[3] == 2 || b[3] == 5), nil
}

// IsVolume reports whether a file is a volume, by its first header or its end. The rest of it may be lost.
func IsVolume(ctx context.Context, r io.ReaderAt, size int64) (bool, error) {
	if is, err := volume.IsVolume(r, size); is || err != nil {
		return is, err
	}
	v, err := volume.Open(ctx, r, size)
	switch {
	case err == nil:
		return true, v.Close()
	case errors.Is(err, volume.ErrNotVolume):
		return false, nil
	case errors.Is(err, archive.ErrCorrupt), errors.Is(err, archive.ErrVersion):
		return true, nil
	}
	return false, err
}

// isHDF5 reports whether a file has the signature of HDF5 where one may be: at the start, or after a block of the
// user, whose length is 512 bytes or that doubled any number of times.
func isHDF5(r io.ReaderAt, size int64) (bool, error) {
	const signature = "\x89HDF\r\n\x1a\n"
	b := make([]byte, len(signature))
	for at := int64(0); at <= size-int64(len(b)); at = max(512, 2*at) {
		if _, err := r.ReadAt(b, at); err != nil && !errors.Is(err, io.EOF) {
			return false, err
		}
		if string(b) == signature {
			return true, nil
		}
	}
	return false, nil
}

// HeldBy describes an open file.
func HeldBy(f *archive.File) *Held {
	i, ok := f.Info()
	if !ok {
		return &Held{Size: f.Size()}
	}
	h := &Held{Archive: true, Name: i.ImageName, Size: i.ImageSize, SHA256: i.SHA256}
	if i.Loss != nil {
		h.Source = i.Loss.SourceSHA256
	}
	return h
}

// String describes what is held.
func (h *Held) String() string {
	var s string
	switch {
	case h.Archive && h.SHA256 == "":
		return fmt.Sprintf("is damaged, so that nobody can tell what it holds (%s)", terminal.WithoutPackages(h.Damage.Error()))
	case h.Archive:
		s = "holds "
		if h.Name != "" { // standard input has none
			s += display.Quoted(h.Name) + ", "
		}
	case h.NetCDF:
		s = "is a netCDF file of "
	case h.SHA256 == "":
		return "is no archive"
	default:
		s = "has "
	}
	s += fmt.Sprintf("%d bytes", h.Size)
	if !h.Time.IsZero() {
		s += ", " + filetime.Text(h.Time)
	}
	if h.SHA256 != "" {
		s += ", SHA-256 " + h.SHA256
	}
	if h.Damage != nil {
		s += fmt.Sprintf(", and is damaged (%s)", terminal.WithoutPackages(h.Damage.Error()))
	}
	if h.Followed {
		s += fmt.Sprintf("; the archive ends at byte %d, and the bytes after it are another file", h.end)
	}
	return s
}

// Covers reports whether nothing is lost if a new archive replaces an old file: both archives have the
// same image, or the old image is a rounded one of the new, or the old file is the image. No other file follows the old
// archive.
func (h *Held) Covers(old *Held) bool {
	return h.Archive && !old.Followed && (h.SHA256 != "" && h.Source == "" && h.SHA256 == old.Source || h.SHA256 != "" && h.SHA256 == old.SHA256)
}

// sameBytes reports whether a new file has the bytes of an old netCDF file. If not, it describes both with their
// SHA-256.
func sameBytes(ctx context.Context, e *Existing, n *New, old, made *Held) (bool, error) {
	var err error
	if old.SHA256, err = SHA256(ctx, e.R, e.Size, nil); err != nil || made.Archive {
		return false, err
	}
	made.Size = n.Size
	if made.SHA256, err = SHA256(ctx, n.R, n.Size, nil); err != nil {
		return false, err
	}
	return made.SHA256 == old.SHA256, nil
}

// errVolume is the error of a volume that would be replaced. Whether a receipt vouches for something in it, nobody looks.
func errVolume() error {
	err := errors.New("the existing volume may hold the only copies of files, and no option replaces it")
	return terminal.Hinted(terminal.Lasting(err), "another name keeps both")
}

// keptHint is the advice for an archive that is not replaced. It must not lead to the loss of
// what that archive holds.
const keptHint = "another name keeps both; cdfz info and cdfz restore -o show what the existing archive holds"

// Other is the error of a file that is kept because a new file does not hold what it holds.
func Other(old, new *Held) error {
	switch {
	case old.NetCDF && new.Archive:
		err := terminal.Lasting(fmt.Errorf("the existing netCDF file may be the only one and is kept: it %s; the new archive %s", old, new))
		return terminal.Hinted(err, "another name keeps both; --replace-other gives up the existing file")
	case old.NetCDF:
		err := terminal.Lasting(fmt.Errorf("the existing netCDF file may be the only one and is kept: it %s; the new file has %d bytes, SHA-256 %s", old, new.Size, new.SHA256))
		return terminal.Hinted(err, "another name keeps both; --replace-other gives up the existing file")
	}
	err := terminal.Lasting(fmt.Errorf("the existing archive may be the only copy of another file and is kept: it %s; the new file %s", old, new))
	if new.Changed != "" && old.Name == new.Name && filetime.After(new.Time, old.Time) {
		return terminal.Hinted(err, "%s", new.Changed)
	}
	if old.Followed {
		return terminal.Hinted(err, "another name keeps both; tail -c +%d FILE >OTHER writes the bytes after the archive to a file of their own", old.end+1)
	}
	if old.SHA256 == "" {
		return terminal.Hinted(err, "cdfz repair or cdfz restore --salvage may restore what it holds")
	}
	return terminal.Hinted(err, keptHint)
}
