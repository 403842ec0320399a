package receipts

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/cdfz-format/cdfz/internal/atomicfile"
)

// ErrKept is wrapped by the reasons why a source was not deleted. It is archived.
var ErrKept = errors.New("the source is archived but was not deleted")

// Deletable returns an error if a file must not be deleted after it was archived: it is a
// symbolic link, or another program has it open for writing, or it is not the file that was
// opened and archived, in the state that st describes.
func Deletable(name string, f *os.File, st fs.FileInfo) error {
	now, err := os.Lstat(name)
	switch {
	case err != nil:
		return kept("%w", err)
	case now.Mode()&fs.ModeSymlink != 0:
		return kept("it is a symbolic link")
	case !os.SameFile(now, st):
		return kept("another file has its name now")
	}
	open, err := f.Stat()
	switch {
	case err != nil:
		return kept("%w", err)
	case open.Size() != st.Size(), !open.ModTime().Equal(st.ModTime()), changed(open, st):
		return kept("it has changed since it was archived")
	}
	if err := unwritten(f); err != nil {
		return kept("%w", err)
	}
	return nil
}

func kept(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrKept, fmt.Errorf(format, args...))
}

// Settled returns once an archive and its name are on disk. Unlike the flush of a new
// target, it also fails where the file system cannot flush.
func Settled(f *os.File, dir string) error {
	if err := f.Sync(); err != nil {
		return kept("flushing the archive: %w", atomicfile.Cause(err))
	}
	if err := atomicfile.SyncDir(dir); err != nil {
		return kept("flushing the folder of the archive: %w", atomicfile.Cause(err))
	}
	dropCache(f)
	return nil
}
