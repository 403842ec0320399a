package fileio

import (
	"context"
	"errors"
	"io"
	"io/fs"

	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/protect"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
	"github.com/cdfz-format/cdfz/internal/ioat"
	"github.com/cdfz-format/cdfz/internal/s3"
	"github.com/cdfz-format/cdfz/remote"
)

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
