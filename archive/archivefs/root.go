package archivefs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/cdfz-format/cdfz/internal/nofollow"
)

// ErrSource is the error for a source that is neither a folder nor a regular file.
var ErrSource = errors.New("expected a folder or a file")

// Root is the file system below an open folder. It does not follow links out of the folder.
type Root struct{ *os.Root }

var _ fs.ReadLinkFS = Root{}

// OpenRoot opens a folder, or the folder of a regular file. Then only is the file's name.
func OpenRoot(src string) (root Root, only string, err error) {
	st, err := os.Stat(src)
	if err != nil {
		return root, "", err
	}
	if !st.IsDir() {
		if !st.Mode().IsRegular() {
			return root, "", &fs.PathError{Op: "open", Path: src, Err: ErrSource}
		}
		src, only = filepath.Split(filepath.Clean(src))
		if src == "" {
			src = "."
		}
	}
	root.Root, err = os.OpenRoot(src)
	return root, only, err
}

// Open implements fs.FS. It does not wait for a writer if the file has become a pipe.
func (r Root) Open(name string) (fs.File, error) {
	f, err := r.OpenFile(name, os.O_RDONLY|nofollow.NonBlock, 0)
	if err != nil {
		return nil, err // not a *os.File that is nil
	}
	return f, nil
}

// ReadLink implements fs.ReadLinkFS.
func (r Root) ReadLink(name string) (string, error) { return r.Readlink(name) }
