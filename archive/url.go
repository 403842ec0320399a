package archive

import (
	"context"
	"errors"
	"fmt"

	"github.com/cdfz-format/cdfz/internal/ioat"
	"github.com/cdfz-format/cdfz/remote"
)

// frontProbe is the length of the read ahead in a classic file: the first window of
// the header's parser, which starts behind the magic number.
const frontProbe = 68 << 10

// URLOptions of OpenURL. Nil and the zero value mean the defaults.
type URLOptions struct {
	Reader *ReaderOptions  // for archives, as in OpenFile
	Remote *remote.Options // for requests
}

// OpenURL opens an archive or a classic netCDF file at an http or https URL. Only
// the needed ranges are fetched. ctx bounds the opening only. Close the File when
// done.
//
// An archive opens in up to three requests: its end; manifest and index header;
// plan and netCDF header. A classic file takes two if its header is not longer
// than 64 KiB. See remote.Open for the requests and for errors of the source.
func OpenURL(ctx context.Context, url string, o *URLOptions) (*File, error) {
	if o == nil {
		o = &URLOptions{}
	}
	var ro remote.Options
	if o.Remote != nil {
		ro = *o.Remote
	}
	ro.Tail = tailProbe
	r, err := remote.Open(ctx, url, &ro)
	if err != nil {
		if errors.Is(err, remote.ErrOptions) {
			err = fmt.Errorf("%w: %w", err, ErrOptions)
		}
		return nil, err
	}
	f, err := openRemote(ctx, r, o.Reader)
	if err != nil {
		r.Close()
		return nil, err
	}
	f.closer = r
	return f, nil
}

func openRemote(ctx context.Context, r *remote.File, o *ReaderOptions) (*File, error) {
	// Opening reads without a context of its own.
	stop := context.AfterFunc(ctx, func() { r.Close() })
	f, err := openEnds(r, o)
	if !stop() {
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
func openEnds(r *remote.File, o *ReaderOptions) (*File, error) {
	end := make([]byte, min(tailLen, r.Size()))
	if err := ioat.ReadFull(r, end, r.Size()-int64(len(end))); err != nil {
		return nil, err
	}
	if len(end) < tailLen || string(end[:len(tailMagic)]) != tailMagic {
		if err := r.Preload(context.Background(), frontProbe); err != nil {
			return nil, err
		}
	}
	return NewFile(r, r.Size(), o)
}
