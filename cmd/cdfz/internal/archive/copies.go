package archive

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/cdfz-format/cdfz/archive/verify"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/fileio"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/protect"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
	"github.com/cdfz-format/cdfz/internal/s3"
	"github.com/cdfz-format/cdfz/internal/storage"
	"github.com/cdfz-format/cdfz/internal/urls"
	"github.com/cdfz-format/cdfz/remote"
)

// copies is --copies and --copy-at: a source is deleted only if further copies of its archive are proved.
// Other programs make them.
type copies struct {
	n      int // archives, with the one that the run makes or finds; 0 and 1 mean that one
	places []string
}

// check checks the flags.
func (c *copies) check(deletes bool) error {
	switch {
	case c.n <= 1 && len(c.places) == 0:
		return nil
	case !deletes:
		return errors.New("--copies and --copy-at: expected --delete-source too")
	case c.n <= 1:
		return errors.New("--copy-at: expected --copies N too")
	case len(c.places) < c.n-1:
		return terminal.Hinted(fmt.Errorf("--copies %d: expected at least %d --copy-at, found %d", c.n, c.n-1, len(c.places)), "--copy-at DIR is a folder, or a URL such as s3://bucket/archives/, with copies of the archives")
	}
	for _, place := range c.places {
		if remote.IsURL(place) && !s3.IsURL(place) {
			return fmt.Errorf("--copy-at %s: expected a folder or the URL of a store, s3 or gs", terminal.ShowName(place))
		}
	}
	return nil
}

// prove proves as many copies of an archive as are asked for, each on a file system or in a store of its
// own, and returns where they are. main is the archive.
func (c *copies) prove(ctx context.Context, v *archiver, w *work, main *fileio.Input) ([]string, error) {
	if c.n <= 1 {
		return nil, nil
	}
	first, err := v.run.In.Stored(main)
	if err != nil {
		return nil, err
	}
	type copy struct {
		place *storage.Place
		path  string
	}
	have := []copy{{first, w.rep.Target}}
	var proved []string
	var failed error
	var weak *storage.WeakError
	for _, at := range c.places {
		if len(proved) == c.n-1 {
			break
		}
		path := urls.Below(at, w.rep.below)
		place, err := v.proveCopy(ctx, w, path)
		for _, other := range have {
			if err != nil {
				break
			}
			if err = place.Apart(other.place); err != nil {
				err = fmt.Errorf("no further copy beside %s: %w", terminal.ShowName(other.path), err)
			}
		}
		if err != nil {
			errors.As(err, &weak)
			failed = errors.Join(failed, fmt.Errorf("%s: %s", terminal.ShowName(path), terminal.PlainText(err, path)))
			continue
		}
		have = append(have, copy{place, path})
		proved = append(proved, terminal.ShowName(path))
	}
	if len(proved) < c.n-1 {
		err := fmt.Errorf("expected %d archives on different file systems or stores, found %d: %w", c.n, 1+len(proved), failed)
		return nil, protect.StorageHint(err, weak)
	}
	return proved, nil
}

// proveCopy reads a copy of an archive without its index. It returns where it is stored. A local copy is
// flushed to disk first.
func (v *archiver) proveCopy(ctx context.Context, w *work, path string) (*storage.Place, error) {
	in, err := v.run.In.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	if in.File != nil {
		dir, _, done, err := in.Folder()
		if err != nil {
			return nil, err
		}
		defer done()
		if err := protect.Durable(v.run.In.Mounts, "it", in.File, dir); err != nil {
			return nil, err
		}
		if err := protect.Settled(in.File, dir); err != nil {
			return nil, err
		}
	}
	if in.IsMember() && !remote.IsURL(path) {
		if err := v.run.In.ProveVolume(ctx, in); err != nil {
			return nil, err
		}
	}
	place, err := v.run.In.Stored(in)
	if err != nil {
		return nil, err
	}
	if err := v.restoresSource(ctx, w, in.R, in.Size); err != nil {
		return nil, err
	}
	return place, in.Changed()
}

// restoresSource reads an archive of size bytes without its index, and returns an error unless it restores the source. A
// file that is kept as it is must have the bytes of the source.
func (v *archiver) restoresSource(ctx context.Context, w *work, r io.ReaderAt, size int64) error {
	if w.Plain {
		return isPlain(ctx, w, r, size)
	}
	got, err := verify.Walk(ctx, r, size, &verify.Options{Workers: w.Limits.Workers, Memory: w.Limits.BlockMemory()})
	if err == nil && (got.SHA256 != w.rep.SHA256 || got.Size != w.rep.Size) {
		err = fmt.Errorf("restores %d bytes with SHA-256 %s, expected %d with %s", got.Size, got.SHA256, w.rep.Size, w.rep.SHA256)
	}
	return err
}

// isPlain returns an error unless a file of size bytes has the bytes of a source that is kept as it is.
func isPlain(ctx context.Context, w *work, r io.ReaderAt, size int64) error {
	sum, err := protect.SHA256(ctx, r, size, nil)
	if err == nil && (sum != w.rep.SHA256 || size != w.rep.Size) {
		err = fmt.Errorf("has %d bytes with SHA-256 %s, expected %d with %s", size, sum, w.rep.Size, w.rep.SHA256)
	}
	return err
}
