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

// upload writes an object. An existing one is replaced only with -f, if that may be replaced, and
// if it is still the one that was judged.
func (t *Target) upload(ctx context.Context, r io.ReaderAt, size int64) (err error) {
	defer func() { err = OfTarget(err) }()
	const tries = 3
	replaces := t.Decision.Action == protect.Replace
	for range tries {
		o := &s3.UploadOptions{}
		if replaces {
			if o.Replace, err = t.object(ctx, t.complete(r, size)); err != nil {
				return err
			}
		}
		if err = s3.Upload(ctx, t.Path, r, size, o); !replaces || !errors.Is(err, fs.ErrExist) {
			break
		}
	}
	if errors.Is(err, fs.ErrExist) && !replaces {
		return terminal.Hinted(err, "%s", t.Targets.overwriteHint())
	}
	return err
}

// object judges an existing object. It returns nil if there is none.
func (t *Target) object(ctx context.Context, fresh *protect.New) (*s3.Version, error) {
	v, err := s3.Stat(ctx, t.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	old, err := remote.Open(ctx, t.Path, nil)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer old.Close()
	return v, t.Targets.rules.MayReplace(ctx, &protect.Existing{Path: t.Path, R: ioat.Bind(ctx, old), Size: old.Size(), Time: v.Modified}, fresh)
}
