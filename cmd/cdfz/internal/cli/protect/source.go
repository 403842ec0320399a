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
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
	"github.com/cdfz-format/cdfz/internal/atomicfile"
	"github.com/cdfz-format/cdfz/internal/nofollow"
	"github.com/cdfz-format/cdfz/internal/storage"
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

// DeleteLink deletes a symbolic link from its folder, if it has the text to. Otherwise the error is one of package nofollow.
func DeleteLink(dir *os.Root, name, to string) error { return atomicfile.RemoveLink(dir, name, to) }

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

// SourceLost returns why the source of a receipt no longer holds what was archived, or "". What cdfz shows is
// no source, nor is a file that may get lost at any time.
func SourceLost(ctx context.Context, m *storage.Mounts, r *receiptfile.Receipt) (why string, err error) {
	const lost = "is gone or has changed"
	size, want := r.Size, r.SHA256
	if r.Compressed != nil {
		size, want = r.Compressed.Size, r.Compressed.SHA256
	}
	if !filepath.IsAbs(r.Source) {
		return lost, nil // a URL, or standard input
	}
	st, err := os.Stat(r.Source) // first, since opening a pipe could block
	if err != nil || !st.Mode().IsRegular() || st.Size() != size {
		return lost, nil
	}
	f, err := os.Open(r.Source)
	if err != nil {
		return lost, nil
	}
	defer f.Close()
	if st, err = f.Stat(); err != nil || !st.Mode().IsRegular() || st.Size() != size {
		return lost, nil
	}
	place, err := m.Of(f)
	if err != nil {
		return lost, nil
	}
	if place.Shown() {
		return "is gone: cdfz shows it, from an archive", nil
	}
	if err := place.Durable(); err != nil {
		return err.Error(), nil
	}
	sum, err := SHA256(ctx, f, size, nil)
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	if err != nil || sum != want || unchanged(f, st) != nil {
		return lost, nil
	}
	// Another run may have deleted it meanwhile, because of the archive that is to go.
	if now, err := os.Stat(r.Source); err != nil || !os.SameFile(now, st) {
		return lost, nil
	}
	return "", nil
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

// Settled returns once a file and its name in a folder are on disk. Unlike the flush of a new target, it also
// fails where the file system cannot flush. Whether it does, Durable tells.
func Settled(f *os.File, dir *os.Root) error {
	if err := f.Sync(); err != nil {
		return fmt.Errorf("flushing the archive: %w", atomicfile.Cause(err))
	}
	if err := atomicfile.SyncRoot(dir); err != nil {
		return fmt.Errorf("flushing the folder of the archive: %w", atomicfile.Cause(err))
	}
	dropCache(f)
	return nil
}

// Durable returns an error unless an open file, which what describes, stays where it is once it was flushed.
// dir is its folder, or nil.
func Durable(m *storage.Mounts, what string, f *os.File, dir *os.Root) error {
	files := []*os.File{f}
	if dir != nil {
		d, err := dir.Open(".")
		if err != nil {
			return err
		}
		defer d.Close()
		files = append(files, d)
	}
	for _, f := range files {
		p, err := m.Of(f)
		if err == nil {
			err = p.Durable()
		}
		if err != nil {
			var weak *storage.WeakError
			errors.As(err, &weak)
			return StorageHint(fmt.Errorf("%s %w", what, err), weak)
		}
	}
	return nil
}

// StorageHint adds advice to an error because of a file system that may lose what is flushed. weak may be nil.
func StorageHint(err error, weak *storage.WeakError) error {
	switch {
	case weak == nil || weak.At == "" || weak.Shown:
		return err
	case weak.Memory:
		return terminal.Hinted(err, "files on a disk stay")
	}
	return terminal.Hinted(err, "if %s keeps what is flushed, --durable-mount %s states it", terminal.ShowName(weak.At), terminal.ShowName(weak.At))
}
