package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/cdfz-format/cdfz/unlimited"
)

var (
	// ErrRemoteChanged: a file at a URL is no longer the one that was opened. It
	// is an error of the source: nothing is known to be damaged.
	ErrRemoteChanged = errors.New("remote file changed while being read")
	// ErrNoRanges: a server sends whole files only, which OpenURL does not read.
	ErrNoRanges = errors.New("server does not support range requests")
)

const (
	// DefaultRetries of a request: about four seconds in all, which outlasts a
	// restart of a server behind a balancer.
	DefaultRetries = 4
	// DefaultTimeout of one attempt at a request.
	DefaultTimeout = 30 * time.Second
	// DefaultParallel requests to a server, within what browsers allow themselves.
	DefaultParallel = 8
)

// URLOptions of OpenURL. Nil and the zero value mean the defaults.
type URLOptions struct {
	// Reader is for archives, as in OpenFile.
	Reader *ReaderOptions
	// Client sends the requests; nil: one that all files share. Its CheckRedirect
	// is obeyed, its Timeout holds for one attempt.
	Client *http.Client
	// Header is sent with every request to the host of the URL, and to no other
	// host that it redirects to; for instance Authorization. Range, the
	// conditions and Accept-Encoding are set by the package.
	Header http.Header
	// Retries is the number of attempts in a row that may fail after the first
	// one; 0: DefaultRetries, negative: none. An attempt that brings 64 KiB
	// starts the count anew.
	Retries int
	// Timeout of one attempt, the bytes of its answer included; 0:
	// DefaultTimeout, negative: none. What came before it is kept.
	Timeout time.Duration
	// Parallel is the number of requests under way at once; 0: DefaultParallel.
	Parallel int

	// wait replaces the pause before a retry in tests.
	wait func(ctx context.Context, d time.Duration) error
}

func (o *URLOptions) withDefaults() (URLOptions, error) {
	var c URLOptions
	if o != nil {
		c = *o
	}
	if c.Parallel < 0 {
		return c, optionsf("Parallel is %d, expected at least 0", c.Parallel)
	}
	if c.Parallel == 0 {
		c.Parallel = DefaultParallel
	}
	switch {
	case c.Retries == 0:
		c.Retries = DefaultRetries
	case c.Retries < 0:
		c.Retries = 0
	}
	if c.Timeout == 0 {
		c.Timeout = DefaultTimeout
	}
	if c.Client == nil {
		c.Client = sharedClient()
	}
	if c.wait == nil {
		c.wait = pause
	}
	return c, nil
}

// OpenURL opens an archive or a classic netCDF file at an http or https URL, of
// which it reads the ranges that are asked for. Close the File when done. ctx is
// for opening alone.
//
// An archive opens in up to three requests: its end; manifest and index header;
// plan and netCDF header. A classic file takes two if its header is not longer
// than 64 KiB. A server that refuses ranges counted from the end costs two more.
//
// The file is pinned by its ETag if it has one, else by Last-Modified, and by its
// size: any later read of a file that was replaced gives ErrRemoteChanged, never
// ErrCorrupt. Only where a server names neither, or does not change them, can a new
// file of the same size pass for damage, or for the old one. A server without ranges gives ErrNoRanges. Answers of 404 and
// 410 wrap fs.ErrNotExist, 401 and 403 fs.ErrPermission. Dropped connections,
// timeouts and answers of 429 and 5xx are retried, with the bytes still missing.
//
// Redirects are followed and their target is kept; should it stop answering, as
// signed URLs do, they are followed again. Errors name the URL without user,
// password and query.
func OpenURL(ctx context.Context, url string, o *URLOptions) (*File, error) {
	c, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	h, err := newHTTPFile(ctx, url, &c)
	if err != nil {
		return nil, err
	}
	// Until the end of this function, reads end with ctx.
	stop := context.AfterFunc(ctx, func() { h.stop(ctx.Err()) })
	f, err := h.openFile(c.Reader)
	if !stop() && err == nil {
		err = fmt.Errorf("archive: %s: %w", h.name, ctx.Err())
	}
	if err != nil {
		h.Close()
		return nil, err
	}
	f.closer = h
	return f, nil
}

func (f *httpFile) openFile(o *ReaderOptions) (*File, error) {
	if err := f.openTail(); err != nil {
		return nil, fmt.Errorf("archive: %w", err)
	}
	// A classic file is known by what its end is not. Its header is at the front.
	if n := len(f.tail) - tailLen; n < 0 || string(f.tail[n:][:len(tailMagic)]) != tailMagic {
		if err := f.openFront(); err != nil {
			return nil, fmt.Errorf("archive: %w", err)
		}
	}
	out, err := NewFile(f, f.size, o)
	if errors.Is(err, ErrCorrupt) {
		// Parts of two files look like damage.
		if again := f.recheck(f.ctx); errors.Is(again, ErrRemoteChanged) {
			return nil, fmt.Errorf("archive: %w", again)
		}
	}
	return out, err
}

// openTail reads the size of the file and its last bytes.
func (f *httpFile) openTail() error {
	p := make([]byte, tailProbe)
	n, err := f.fetch(f.ctx, p, fromEnd)
	if errors.Is(err, errFromEnd) {
		// The size is the question then, and any byte answers it.
		if f.size < 0 {
			if _, err = f.fetch(f.ctx, p[:1], 0); err != nil {
				return err
			}
		}
		p = p[:min(tailProbe, f.size)]
		if len(p) == 0 {
			return nil
		}
		n, err = f.fetch(f.ctx, p, f.size-int64(len(p)))
	}
	if err != nil {
		return err
	}
	f.tail, f.tailOff = p[:n], f.size-int64(n)
	return nil
}

// openFront reads ahead what the header of a classic file takes.
func (f *httpFile) openFront() error {
	p := make([]byte, min(frontProbe, f.size))
	if err := unlimited.ReadFull(f, p, 0); err != nil {
		return err
	}
	f.front = p
	return nil
}

var (
	_ io.ReaderAt              = (*httpFile)(nil)
	_ interface{ Gap() int64 } = (*httpFile)(nil)
)
