package archivefs

import (
	"errors"
	"io"
	"io/fs"
	"path"
	"strings"
	"sync"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/cdfz-format/cdfz/archive"
)

// Joined is what an FS knows about descriptions of joined files, which appear as one file. It belongs to
// one FS and those of its folders.
type Joined struct {
	Suffix string // of the names of descriptions
	Image  string // that the name of the joined file has in its place
	// Is reports whether a file of size bytes seems to be a description, intact or damaged. It reads few
	// bytes, since folders with many long descriptions are listed.
	Is func(r io.ReaderAt, size int64) (bool, error)
	// Read reads a description, which can take long. It is called once for each file until that changes,
	// and for one file at a time.
	Read func(r io.ReaderAt, size int64) (JoinedFiles, error)
	// Refused reports whether Read of the same bytes would fail with the same error.
	Refused func(error) bool

	mu    sync.Mutex // held by Read
	known *lru.Cache[Ident, description]
	bytes int64 // of the descriptions in known
}

// JoinedFiles opens the files that a description names, in the file system of the first FS, in which the
// description has a name. The closer closes them.
type JoinedFiles func(root fs.FS, name string) (*archive.File, io.Closer, error)

// description is a description that was read.
type description struct {
	open JoinedFiles
	err  error // why it was refused
	size int64 // of the file; 0 if refused
}

const (
	maxRefused    = 1 << 12  // descriptions that are remembered
	maxKnownBytes = 32 << 20 // of descriptions kept in memory, where they take about twice as much
)

// read reads a description with an identity, or returns what was read before.
func (j *Joined) read(id Ident, r io.ReaderAt, size int64) (JoinedFiles, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.known == nil {
		j.known, _ = lru.NewWithEvict(maxRefused, func(_ Ident, d description) { j.bytes -= d.size }) // fails for no size only
	}
	if d, ok := j.known.Get(id); ok {
		return d.open, d.err
	}
	open, err := j.Read(r, size)
	switch {
	case err == nil:
		j.known.Add(id, description{open: open, size: size})
		for j.bytes += size; j.bytes > maxKnownBytes && j.known.Len() > 1; {
			j.known.RemoveOldest()
		}
	case j.Refused(err):
		err = refused{err}
		j.known.Add(id, description{err: err})
	}
	return open, err
}

// refused is the error of a description itself, and not of a file that it names.
type refused struct{ error }

func (r refused) Unwrap() error { return r.error }

// isJoined reports whether a file is named like a description of joined files.
func (v *FS) isJoined(name string) bool {
	return v.Joined != nil && strings.HasSuffix(name, v.Joined.Suffix)
}

// is reports whether a file appears as another one.
func (v *FS) is(name string, r io.ReaderAt, size int64) (bool, error) {
	if v.isJoined(name) {
		return v.Joined.Is(r, size)
	}
	return v.format.is(r, size)
}

// lasting reports whether an archive or a description would not open again. Files that a description names
// may change while it stays.
func (v *FS) lasting(name string, err error) bool {
	if v.isJoined(name) {
		return errors.As(err, new(refused))
	}
	return v.format.lasting(err)
}

// openNetCDF opens a file of the file system, with shown in errors. The closer closes what else was
// opened.
func (v *FS) openNetCDF(name, shown string, r io.ReaderAt, info fs.FileInfo) (*archive.File, io.Closer, error) {
	if v.isJoined(name) {
		open, err := v.Joined.read(IdentOf(path.Join(v.dir, name), info), r, info.Size())
		if err != nil {
			return nil, nil, err
		}
		return open(v.root, path.Join(v.dir, name))
	}
	a, err := v.format.open(shown, r, info.Size())
	return a, nothing{}, err
}

type nothing struct{}

func (nothing) Close() error { return nil }

// together is a file that is closed after what was opened because of it.
type together struct {
	Stored
	first io.Closer
}

func (t together) Close() error { return errors.Join(t.first.Close(), t.Stored.Close()) }
