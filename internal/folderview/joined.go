package folderview

import (
	"errors"
	"io"
	"io/fs"
	"path"
	"strings"
)

// Joined is what a view knows about descriptions of joined files, which appear as one file.
type Joined[A any] struct {
	Suffix string // of the names of descriptions
	Image  string // that the name of the joined file has in its place
	// Is reports whether a file of size bytes is a description, intact or damaged.
	Is func(r io.ReaderAt, size int64) (bool, error)
	// Open reads a description, and the structure of the files that it names, below its folder in fsys.
	// The closer closes these.
	Open func(fsys fs.FS, name string, r io.ReaderAt, size int64) (A, io.Closer, error)
}

// isJoined reports whether a file is named like a description of joined files.
func (v *View[A]) isJoined(name string) bool {
	return v.Joined != nil && strings.HasSuffix(name, v.Joined.Suffix)
}

// is reports whether a file appears as another one.
func (v *View[A]) is(name string, r io.ReaderAt, size int64) (bool, error) {
	if v.isJoined(name) {
		return v.Joined.Is(r, size)
	}
	return v.format.Is(r, size)
}

// openNetCDF opens a file of the view's file system, with shown in errors. The closer closes what else was
// opened.
func (v *View[A]) openNetCDF(name, shown string, r io.ReaderAt, size int64) (A, io.Closer, error) {
	if v.isJoined(name) {
		return v.Joined.Open(v.fsys, path.Clean(name), r, size)
	}
	a, err := v.format.Open(shown, r, size)
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
