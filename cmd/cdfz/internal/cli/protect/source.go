package protect

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/receiptfile"
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
func SourceExists(ctx context.Context, r *receiptfile.Receipt) (bool, error) {
	size, want := r.Size, r.SHA256
	if r.Compressed != nil {
		size, want = r.Compressed.Size, r.Compressed.SHA256
	}
	if !filepath.IsAbs(r.Source) {
		return false, nil // a URL, or standard input
	}
	st, err := os.Stat(r.Source) // first, since opening a pipe could block
	if err != nil || !st.Mode().IsRegular() || st.Size() != size {
		return false, nil
	}
	f, err := os.Open(r.Source)
	if err != nil {
		return false, nil
	}
	defer f.Close()
	if st, err = f.Stat(); err != nil || !st.Mode().IsRegular() || st.Size() != size {
		return false, nil
	}
	sum, err := SHA256(ctx, f, size, nil)
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	return err == nil && sum == want && unchanged(f, st) == nil, nil
}

// SHA256 returns the SHA-256 of size bytes in hexadecimal. step, if not nil, is called with the number of
// bytes done so far. Fewer bytes are archive.ErrChanged.
func SHA256(ctx context.Context, r io.ReaderAt, size int64, step func(int64)) (string, error) {
	sum := sha256.New()
	buf := make([]byte, min(size, 1<<20))
	for off := int64(0); off < size; {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		n, err := r.ReadAt(buf[:min(int64(len(buf)), size-off)], off)
		if n == 0 {
			if err == nil || errors.Is(err, io.EOF) {
				err = archive.ErrChanged
			}
			return "", err
		}
		sum.Write(buf[:n])
		if off += int64(n); step != nil {
			step(off)
		}
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
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
