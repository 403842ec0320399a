// Package nofollow opens files and folders below an open folder without following symbolic
// links. Each name is looked up in an open folder, so what is opened lies below the first
// one, whatever other programs rename meanwhile. Its functions are safe for concurrent use.
package nofollow

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Errors of files and folders that are not opened.
var (
	ErrLink       = errors.New("is a symbolic link")
	ErrNotFolder  = errors.New("not a folder")
	ErrNotRegular = errors.New("not a regular file")
	ErrReplaced   = errors.New("was replaced by another file meanwhile")
)

// Folder opens a folder below another one. name is a relative path in the form of the system,
// without "..". The caller must close the result.
func Folder(root *os.Root, name string) (*os.Root, error) {
	w, err := walk(root, name)
	if err != nil {
		return nil, err
	}
	w[:len(w)-1].close()
	return w.last(), nil
}

// way has the folders on the way to a folder, the folder last. All are open.
type way []step

// step is a folder that was opened by its name in another one.
type step struct {
	*os.Root
	in   *os.Root
	name string
	st   fs.FileInfo
}

// walk opens all folders on the way to a folder.
func walk(root *os.Root, name string) (way, error) {
	var w way
	at := root
	for part := range strings.SplitSeq(filepath.Clean(name), string(filepath.Separator)) {
		next, err := one(at, part)
		if err != nil {
			w.close()
			return nil, err
		}
		w = append(w, next)
		at = next.Root
	}
	return w, nil
}

func (w way) last() *os.Root { return w[len(w)-1].Root }

// unchanged reports whether all names still belong to the open folders.
func (w way) unchanged() bool {
	for _, s := range w {
		if now, err := s.in.Lstat(s.name); err != nil || !os.SameFile(now, s.st) {
			return false
		}
	}
	return true
}

// close closes all folders.
func (w way) close() (err error) {
	for _, s := range w {
		err = errors.Join(err, s.Root.Close())
	}
	return err
}

// one opens a folder in another one.
func one(in *os.Root, name string) (step, error) {
	before, err := in.Lstat(name)
	switch {
	case err != nil:
	case before.Mode()&fs.ModeSymlink != 0:
		err = ErrLink
	case !before.IsDir():
		err = ErrNotFolder
	}
	var out *os.Root
	if err == nil {
		// The dot makes it fail for pipes, which it would wait for.
		out, err = in.OpenRoot(name + string(filepath.Separator) + ".")
	}
	if err != nil {
		return step{}, failed(in, name, err)
	}
	now, err := out.Stat(".")
	if err == nil && !os.SameFile(before, now) {
		err = ErrReplaced
	}
	if err != nil {
		out.Close()
		return step{}, failed(in, name, err)
	}
	return step{out, in, name, now}, nil
}

// File opens a regular file in a folder. name has no separators. The result describes the open
// file.
func File(in *os.Root, name string, flag int) (*os.File, fs.FileInfo, error) {
	// It does not wait for a writer if the file has become a pipe.
	f, err := in.OpenFile(name, flag|NonBlock, 0)
	if err != nil {
		return nil, nil, failed(in, name, err)
	}
	st, err := f.Stat()
	if err == nil && !st.Mode().IsRegular() {
		err = ErrNotRegular
	}
	if err == nil {
		err = Is(in, name, st)
	}
	if err != nil {
		f.Close()
		return nil, nil, failed(in, name, err)
	}
	return f, st, nil
}

// Is returns an error if a name in a folder is not that of an open file, which st describes.
func Is(in *os.Root, name string, st fs.FileInfo) error {
	switch now, err := in.Lstat(name); {
	case err != nil:
		return cause(err)
	case now.Mode()&fs.ModeSymlink != 0:
		return ErrLink
	case !os.SameFile(now, st):
		return ErrReplaced
	}
	return nil
}

// failed adds the path to an error.
func failed(in *os.Root, name string, err error) error {
	return &fs.PathError{Op: "open", Path: filepath.Join(in.Name(), name), Err: cause(err)}
}

// cause returns an error of the system without the name in a folder.
func cause(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
