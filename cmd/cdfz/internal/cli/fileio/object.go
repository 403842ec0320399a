package fileio

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/protect"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
	"github.com/cdfz-format/cdfz/internal/ioat"
	"github.com/cdfz-format/cdfz/remote"
	"github.com/cdfz-format/cdfz/remote/s3"
)

// WriteObject makes a target. For a path it calls write with it. For the URL of an object it
// calls write with the path of a temporary file, which it uploads when it is complete and
// compared with its source, unless the options have NoCheck.
func (a *IO) WriteObject(ctx context.Context, target string, src *Input, o *archive.FileOptions, write func(path string) error) error {
	if !s3.IsURL(target) {
		return write(target)
	}
	dir, err := os.MkdirTemp("", "cdfz-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "file")
	if err := write(path); err != nil {
		return err
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return err
	}
	g := a.guard(target, src)
	g.unproved = func() bool { return o.NoCheck }
	return g.upload(ctx, f, st.Size())
}

// upload writes an object. An existing one is replaced only with -f, if the guard allows it, and
// if it is still the one that the guard has judged.
func (g *guard) upload(ctx context.Context, r io.ReaderAt, size int64) (err error) {
	defer func() { err = OfTarget(err) }()
	const tries = 3
	for range tries {
		o := &s3.UploadOptions{}
		if g.a.Force {
			if o.Replace, err = g.object(ctx, r, size); err != nil {
				return err
			}
		}
		if err = s3.Upload(ctx, g.path, r, size, o); !g.a.Force || !errors.Is(err, fs.ErrExist) {
			break
		}
	}
	if errors.Is(err, fs.ErrExist) && !g.a.Force {
		return terminal.Hinted(err, "%s", g.a.overwriteHint())
	}
	return err
}

// object judges an existing object. It returns nil if there is none.
func (g *guard) object(ctx context.Context, fresh io.ReaderAt, size int64) (*s3.Version, error) {
	v, err := s3.Stat(ctx, g.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	old, err := remote.Open(ctx, g.path, nil)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer old.Close()
	return v, g.may(ctx, &protect.Existing{Path: g.path, R: ioat.Bind(ctx, old), Size: old.Size(), Time: v.Modified}, fresh, size)
}
