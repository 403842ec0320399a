// Package remote reads files at http and https URLs through range requests.
//
// [Open] returns a [File], which is an io.ReaderAt of known size. It is bound to the
// version of the file that was opened: if the file is replaced, later reads return
// [ErrChanged]. Dropped connections, timeouts and overloaded servers are retried,
// requesting only the missing bytes.
//
// Importing the package makes archive.Open open such URLs. For other options, call Open here,
// and archive.New with the result. The package knows nothing about the content of files.
package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/cdfz-format/cdfz/internal/ioat"
	"github.com/cdfz-format/cdfz/internal/resolver"
	"github.com/cdfz-format/cdfz/internal/urls"
)

// gap is the value of File.Gap: about the amount that a fast line transfers in one
// round trip.
const gap = 64 << 10

// File is a file at a URL. It is safe for concurrent use.
type File struct {
	name   string // for errors
	origin *url.URL
	header http.Header // for requests to origin's host
	client *http.Client
	o      Options             // with defaults
	slots  *semaphore.Weighted // of active requests
	target atomic.Pointer[url.URL]

	// Learned from the first answers, constant once Open has returned.
	pinned   bool
	size     int64  // -1 if not yet known
	etag     string // "" if none
	modified string // Last-Modified, or ""
	answer   http.Header
	tail     []byte // the last bytes of the file
	tailOff  int64

	front atomic.Pointer[[]byte] // the first bytes, if Preload was called

	ctx  context.Context // done when the file is closed
	stop context.CancelCauseFunc

	requests, received, retries atomic.Int64
}

var (
	_ io.ReaderAt          = (*File)(nil)
	_ ioat.ContextReaderAt = (*File)(nil)
)

// Open opens the file at an http or https URL, or at one of a scheme that [Register] was
// called for, with a request for its last bytes. A
// server that does not support ranges counted from the end costs up to two more
// requests. ctx is for opening only. Close the File when done.
//
// The file is identified by its ETag, or else by Last-Modified, and by its size. If a
// server sends neither, replacing the file by another of the same size goes unnoticed.
//
// The error is ErrNoRanges for a server without ranges, and ErrOptions for a malformed
// URL or invalid options. It wraps fs.ErrNotExist for status 404 and 410, and
// fs.ErrPermission for 401 and 403.
//
// Redirects are followed once and their target is kept. If the target stops answering,
// as signed URLs do, they are followed again. Errors contain the URL without user,
// password and query.
func Open(ctx context.Context, url string, o *Options) (*File, error) {
	f, err := newFile(ctx, url, o)
	if err != nil {
		return nil, err
	}
	opening, done := f.until(ctx)
	defer done()
	if err := f.openTail(opening); err != nil {
		if ctx.Err() != nil {
			err = fmt.Errorf("remote: %s: %w", f.name, ctx.Err())
		}
		f.Close()
		return nil, err
	}
	return f, nil
}

// newFile checks the URL and the options without sending anything. Requests carry
// the values of ctx but do not end with it.
func newFile(ctx context.Context, rawURL string, o *Options) (*File, error) {
	opts, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	name := rawURL
	if resolve := resolver.Of(rawURL); resolve != nil {
		target, client, err := resolve(ctx, rawURL, opts.Client)
		if err != nil {
			return nil, fmt.Errorf("remote: %s: %w", urls.Redact(name), err)
		}
		rawURL, opts.Client = target.String(), client
	}
	u, auth, err := parseURL(rawURL)
	if err != nil {
		return nil, err
	}
	shown := urls.Display(u)
	if name != rawURL {
		shown = urls.Redact(name)
	}
	f := &File{name: shown, origin: u, header: http.Header{}, o: opts, size: -1, slots: semaphore.NewWeighted(int64(opts.Parallel))}
	for k, v := range opts.Header {
		k = http.CanonicalHeaderKey(k) // checkRedirect looks headers up in this form
		f.header[k] = append(f.header[k], v...)
	}
	if auth != "" && f.header.Get("Authorization") == "" {
		f.header.Set("Authorization", auth)
	}
	f.target.Store(u)
	client := *opts.Client
	client.CheckRedirect = f.checkRedirect
	f.client = &client
	f.ctx, f.stop = context.WithCancelCause(context.WithoutCancel(ctx))
	return f, nil
}

// openTail reads the size of the file and its last bytes.
func (f *File) openTail(ctx context.Context) error {
	p := make([]byte, f.o.Tail)
	n, err := f.fetch(ctx, p, fromEnd)
	if errors.Is(err, errFromEnd) {
		// Any single byte reveals the size.
		if f.size < 0 {
			if _, err = f.fetch(ctx, p[:1], 0); err != nil {
				return err
			}
		}
		p = p[:min(int64(len(p)), f.size)]
		if len(p) == 0 {
			return nil
		}
		n, err = f.fetch(ctx, p, f.size-int64(len(p)))
	}
	if err != nil {
		return err
	}
	f.tail, f.tailOff = p[:n], f.size-int64(n)
	return nil
}

// Name returns the URL without user, password and query.
func (f *File) Name() string { return f.name }

// Header returns the headers of the first answer with bytes of the file. The caller must not change them.
func (f *File) Header() http.Header { return f.answer }

// Size returns the length of the file in bytes, as claimed by the server.
func (f *File) Size() int64 { return f.size }

// ETag returns the ETag that the server sent when the file was opened, "" for none.
func (f *File) ETag() string { return f.etag }

// Modified returns when the file was last modified, as the server told when it was opened. It is the zero
// time if that is unknown.
func (f *File) Modified() time.Time {
	at, err := http.ParseTime(f.modified)
	if err != nil {
		return time.Time{}
	}
	return at
}

// Gap returns the distance in bytes up to which two reads are better merged.
func (f *File) Gap() int64 { return gap }

// Stats counts the cost of a File so far.
type Stats struct {
	Requests int64 // redirects and retries included
	Bytes    int64 // of response bodies
	Retries  int64 // repeated attempts, including reads under ioat.Reread
}

// Stats returns the counters.
func (f *File) Stats() Stats {
	return Stats{f.requests.Load(), f.received.Load(), f.retries.Load()}
}

// Close ends active reads with fs.ErrClosed. Later reads fail with it too.
func (f *File) Close() error {
	f.stop(fs.ErrClosed)
	return nil
}

// ReadAt implements io.ReaderAt. Reads within the bytes kept by Open and Preload need
// no request, other reads need one.
func (f *File) ReadAt(p []byte, off int64) (int, error) {
	return f.ReadAtContext(context.Background(), p, off)
}

// ReadAtContext is ReadAt that ends early when ctx is done. Only then does the error
// wrap context.Canceled or context.DeadlineExceeded.
func (f *File) ReadAtContext(ctx context.Context, p []byte, off int64) (int, error) {
	if off < 0 {
		return 0, errors.New("remote: negative offset")
	}
	var end error
	if left := max(0, f.size-off); int64(len(p)) > left {
		p, end = p[:left], io.EOF
	}
	ctx, done := f.until(ctx)
	defer done()
	if f.ctx.Err() != nil {
		return 0, f.wrap(off, len(p), f.cause(ctx))
	}
	if len(p) == 0 {
		return 0, end
	}
	from, to := 0, len(p) // the part to be fetched
	if ioat.IsReread(ctx) {
		f.retries.Add(1)
	} else {
		from, to = f.copyKept(p, off)
	}
	if from < to {
		if n, err := f.fetch(ctx, p[from:to], off+int64(from)); err != nil {
			return from + n, err
		}
	}
	return len(p), end
}

// copyKept copies the kept bytes of the range of len(p) bytes at off, which lies within
// the file. It returns the part of p that is still missing.
func (f *File) copyKept(p []byte, off int64) (from, to int) {
	if front := f.front.Load(); front != nil && off < int64(len(*front)) {
		from = copy(p, (*front)[off:])
	}
	to = len(p)
	if over := off + int64(len(p)) - f.tailOff; f.tail != nil && over > 0 {
		to = max(from, len(p)-int(min(over, int64(len(p)))))
		copy(p[to:], f.tail[off+int64(to)-f.tailOff:])
	}
	return from, to
}

// Preload reads the first n bytes of the file, or all of a shorter file, and keeps
// them. Later reads of them need no request.
func (f *File) Preload(ctx context.Context, n int64) error {
	p := make([]byte, min(n, f.size))
	if err := ioat.ReadFull(ioat.Bind(ctx, f), p, 0); err != nil {
		return err
	}
	f.front.Store(&p)
	return nil
}

// CheckTail fetches the last bytes of the file again and returns ErrChanged if they
// differ from those that Open read. It detects replaced files even if the server sends
// nothing to identify versions.
func (f *File) CheckTail(ctx context.Context) error {
	p := make([]byte, len(f.tail))
	if len(p) == 0 {
		return nil
	}
	ctx, done := f.until(ctx)
	defer done()
	if _, err := f.fetch(ctx, p, f.tailOff); err != nil {
		return err
	}
	if !bytes.Equal(p, f.tail) {
		return f.wrap(f.tailOff, len(p), fmt.Errorf("last bytes have changed: %w", ErrChanged))
	}
	return nil
}
