package fileio

import (
	"context"
	"errors"
	"io"
	"io/fs"

	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/protect"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/stop"
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
		release := stop.Hold() // until its parts are removed if it fails
		err = s3.Upload(ctx, t.Path, r, size, o)
		if release(); !replaces || !errors.Is(err, fs.ErrExist) {
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

// OpenObject opens an object that may be empty. It returns nil if there is none.
func (n *Inputs) OpenObject(ctx context.Context, url string) (*Input, error) {
	v, err := s3.Stat(ctx, url)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case v.Size == 0: // stores answer no range of an empty object
		return EmptyInput(url), nil
	}
	return n.Open(ctx, url)
}

// Object is an object that is written while its bytes are made. A cancelled run waits until its parts are removed.
type Object struct {
	*s3.Writer
	release func()
}

// NewObject is s3.NewWriter.
func NewObject(ctx context.Context, name string, most int64) (*Object, error) {
	w, err := s3.NewWriter(ctx, name, most)
	if err != nil {
		return nil, err
	}
	return &Object{w, stop.Hold()}, nil
}

// Commit makes the object appear unless ctx is done.
func (o *Object) Commit(ctx context.Context) error {
	defer o.release()
	return o.Writer.Commit(ctx)
}

// Abort removes what was sent, unless Commit has succeeded.
func (o *Object) Abort() {
	defer o.release()
	o.Writer.Abort()
}
