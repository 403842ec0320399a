package archive

import (
	"context"
	"errors"
	"fmt"

	"github.com/cdfz-format/cdfz/archive/internal/blocks"
	"github.com/cdfz-format/cdfz/archive/internal/czip"
	"github.com/cdfz-format/cdfz/internal/ioat"
	"github.com/cdfz-format/cdfz/remote"
)

// frontProbe is the length of the read-ahead in a classic file: the first window of the
// header's parser, which starts after the magic number.
const frontProbe = 68 << 10

// openRemote opens the file at a URL.
func openRemote(ctx context.Context, url string, o *OpenOptions) (*File, error) {
	if o == nil {
		o = &OpenOptions{}
	}
	var ro remote.Options
	if o.Remote != nil {
		ro = *o.Remote
	}
	ro.Tail = blocks.TailProbe
	r, err := remote.Open(ctx, url, &ro)
	if err != nil {
		if errors.Is(err, remote.ErrOptions) {
			err = fmt.Errorf("%w: %w", err, ErrOptions)
		}
		return nil, err
	}
	c := *o
	if c.Name == "" {
		c.Name = r.Name()
	}
	f, err := newRemoteFile(ctx, r, &c)
	if err != nil {
		r.Close()
		return nil, err
	}
	f.closer = r
	return f, nil
}

func newRemoteFile(ctx context.Context, r *remote.File, o *OpenOptions) (*File, error) {
	f, err := openEnds(ctx, r, o)
	if ctx.Err() != nil {
		return nil, fmt.Errorf("archive: %s: %w", r.Name(), ctx.Err())
	}
	if errors.Is(err, ErrCorrupt) {
		// A mixture of two versions of a file looks like damage.
		if again := r.CheckTail(ctx); errors.Is(again, remote.ErrChanged) {
			err = again
		}
	}
	return f, err
}

// openEnds opens an archive, or a classic file with its header read ahead.
func openEnds(ctx context.Context, r *remote.File, o *OpenOptions) (*File, error) {
	end := make([]byte, min(czip.TailLen, r.Size()))
	if err := ioat.ReadFull(ioat.Bind(ctx, r), end, r.Size()-int64(len(end))); err != nil {
		return nil, err
	}
	if len(end) < czip.TailLen || string(end[:len(czip.TailMagic)]) != czip.TailMagic {
		if err := r.Preload(ctx, frontProbe); err != nil {
			return nil, err
		}
	}
	return newNamed(ctx, r, r.Size(), o)
}
