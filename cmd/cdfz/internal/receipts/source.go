package receipts

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/fileio"
	"github.com/cdfz-format/cdfz/internal/atomicfile"
	"github.com/cdfz-format/cdfz/internal/nofollow"
)

// ErrKept is wrapped by the reasons why a source was not deleted. It is archived.
var ErrKept = errors.New("the source is archived but was not deleted")

// Delete deletes the source f from its folder, unless it must not be deleted after it was
// archived: its name there is a symbolic link or belongs to another file, or another program has
// it open for writing, or it has changed since it was opened, in the state that st describes.
func Delete(dir *os.Root, name string, f *os.File, st fs.FileInfo) error {
	err := nofollow.Is(dir, name, st)
	if err == nil {
		err = unchanged(f, st)
	}
	if now, statErr := f.Stat(); err == nil && statErr == nil && changed(now, st) {
		err = errChanged
	}
	if err == nil {
		err = atomicfile.Remove(dir, name, f, func() error { return unchanged(f, st) })
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, nofollow.ErrLink):
		return kept("it is a symbolic link")
	case errors.Is(err, nofollow.ErrReplaced):
		return kept("another file has its name now")
	case errors.Is(err, atomicfile.ErrLocked):
		return kept("another program has locked it")
	}
	return kept("%w", err)
}

var errChanged = errors.New("it has changed since it was archived")

// unchanged returns an error if a source may have changed since it was opened.
func unchanged(f *os.File, st fs.FileInfo) error {
	now, err := f.Stat()
	if err != nil {
		return err
	}
	if now.Size() != st.Size() || !now.ModTime().Equal(st.ModTime()) {
		return errChanged
	}
	return unwritten(f)
}

// SourceExists reports whether the source of a receipt still holds what was archived.
func (r *Receipt) SourceExists(ctx context.Context) (bool, error) {
	size, want := r.Size, r.SHA256
	if r.Compressed != nil {
		size, want = r.Compressed.Size, r.Compressed.SHA256
	}
	if !filepath.IsAbs(r.Source) {
		return false, nil // a URL, or standard input
	}
	in, err := fileio.OpenFile(r.Source, os.O_RDONLY)
	if err != nil {
		return false, nil
	}
	defer in.Close()
	if in.Size != size {
		return false, nil
	}
	sum, err := in.SHA256(ctx, nil)
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	return err == nil && sum == want, nil
}

func kept(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrKept, fmt.Errorf(format, args...))
}

// Settled returns once an archive and its name in a folder are on disk. Unlike the flush of a new
// target, it also fails where the file system cannot flush.
func Settled(f *os.File, dir *os.Root) error {
	if err := f.Sync(); err != nil {
		return kept("flushing the archive: %w", atomicfile.Cause(err))
	}
	if err := atomicfile.SyncRoot(dir); err != nil {
		return kept("flushing the folder of the archive: %w", atomicfile.Cause(err))
	}
	dropCache(f)
	return nil
}

// source is what was found of the source of a receipt. Its text ends a message.
type source string

const (
	sourceExists  source = "its source exists"
	sourceChanged source = "its source exists with another size or time"
	sourceGone    source = "its source is gone"
	sourceUnknown source = "its source is unknown" // a URL, standard input, or out of reach
)

// lookFor looks for the source of a receipt.
func lookFor(rec *Receipt) source {
	if !filepath.IsAbs(rec.Source) {
		return sourceUnknown
	}
	size := rec.Size
	if rec.Compressed != nil {
		size = rec.Compressed.Size
	}
	st, err := os.Stat(rec.Source)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return sourceGone
	case err != nil:
		return sourceUnknown
	case st.Size() != size || !st.ModTime().Equal(rec.Modified):
		return sourceChanged
	}
	return sourceExists
}
