package joined

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/internal/urls"
)

// FS returns an Opener of locations relative to the folder of a description in a file system, whose files
// must implement io.ReaderAt. Locations outside of the file system, URLs, and names that begin with a
// point are refused, since the file system may be shown to others.
func FS(fsys fs.FS, description string) Opener {
	return func(ctx context.Context, location string, o *archive.OpenOptions) (*archive.File, io.Closer, error) {
		name := path.Join(path.Dir(description), location)
		if urls.Is(location) || path.IsAbs(location) || !fs.ValidPath(name) || name[0] == '.' || strings.Contains(name, "/.") {
			return nil, nil, fmt.Errorf("joined: member %q: members must lie below the folder that is shown, in no hidden one", urls.Redact(location))
		}
		f, size, err := openBelow(fsys, name)
		if notExist(err) && !strings.HasSuffix(name, archive.Suffix) {
			f, size, err = openBelow(fsys, name+archive.Suffix)
		}
		if err != nil {
			return nil, nil, err
		}
		a, err := archive.New(ctx, f, size, o)
		if err != nil {
			f.Close()
			return nil, nil, err
		}
		return a, f, nil
	}
}

// stored is an open regular file.
type stored interface {
	fs.File
	io.ReaderAt
}

func openBelow(fsys fs.FS, name string) (stored, int64, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, 0, err
	}
	st, err := f.Stat()
	r, ok := f.(stored)
	if err == nil && (!ok || !st.Mode().IsRegular()) {
		err = &fs.PathError{Op: "open", Path: name, Err: errors.New("expected a regular file that implements io.ReaderAt")}
	}
	if err != nil {
		f.Close()
		return nil, 0, err
	}
	return r, st.Size(), nil
}
