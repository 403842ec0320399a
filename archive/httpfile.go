package archive

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// remoteGap is Gap over HTTP: what a fast line carries while a request is on
	// its way.
	remoteGap = 64 << 10
	// frontProbe is what is read ahead of a classic file: the first window of
	// the header's parser, which starts behind the magic number.
	frontProbe = 68 << 10
	// progress is the number of bytes after which failures are counted anew.
	progress = 64 << 10

	firstPause    = 250 * time.Millisecond
	longestPause  = 8 * time.Second
	longestWished = time.Minute // of Retry-After

	// fromEnd as an offset means the last bytes of a file of unknown size.
	fromEnd = -1
)

// errFromEnd: the server does not know ranges counted from the end.
var errFromEnd = errors.New("no ranges from the end")

// sharedClient is the client of all files that bring none, so that their
// connections are shared.
var sharedClient = sync.OnceValue(func() *http.Client {
	t, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		return &http.Client{}
	}
	t = t.Clone()
	t.MaxIdleConnsPerHost = 2 * DefaultParallel
	t.DisableCompression = true
	return &http.Client{Transport: t}
})

// httpFile reads a file by HTTP range requests. It is safe for concurrent use
// once openTail has returned.
type httpFile struct {
	name   string // for errors
	origin *url.URL
	header http.Header // for requests to origin's host
	client *http.Client
	o      *URLOptions
	slots  chan struct{} // one for each request under way
	target atomic.Pointer[url.URL]

	// What the first answers said; constant from then on.
	pinned   bool
	size     int64  // -1: not known yet
	etag     string // "": none
	modified string // Last-Modified, "": none

	// Bytes kept from opening; constant from then on.
	front, tail []byte
	tailOff     int64

	ctx  context.Context // done with the file
	stop context.CancelCauseFunc

	requests, received, retries atomic.Int64
}

// newHTTPFile checks a URL and the options; it sends nothing. o has no defaults
// left. Values of ctx are passed to requests, its end is not.
func newHTTPFile(ctx context.Context, rawURL string, o *URLOptions) (*httpFile, error) {
	u, err := url.Parse(rawURL)
	if err != nil || u.Opaque != "" || u.Hostname() == "" {
		// The cause would quote parts of the URL, a password perhaps.
		return nil, optionsf("malformed URL")
	}
	if u.Scheme != "http" && u.Scheme != "https" {
		return nil, optionsf("URL scheme %q, expected http or https", u.Scheme)
	}
	f := &httpFile{o: o, header: http.Header{}, size: -1, slots: make(chan struct{}, o.Parallel)}
	for k, v := range o.Header {
		k = http.CanonicalHeaderKey(k) // what redirects must not carry on is found by it
		f.header[k] = append(f.header[k], v...)
	}
	// User and password become a header, to go where headers go.
	if u.User != nil && f.header.Get("Authorization") == "" {
		pass, _ := u.User.Password()
		f.header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(u.User.Username()+":"+pass)))
	}
	u.User, u.Fragment, u.RawFragment = nil, "", ""
	shown := *u
	shown.RawQuery, shown.ForceQuery = "", false
	f.name, f.origin = shown.String(), u
	f.target.Store(u)
	client := *o.Client
	client.CheckRedirect = f.checkRedirect
	f.client = &client
	f.ctx, f.stop = context.WithCancelCause(context.WithoutCancel(ctx))
	return f, nil
}

// Size is the length of the file in bytes.
func (f *httpFile) Size() int64 { return f.size }

// Gap is the distance in bytes up to which two reads are better made one.
func (f *httpFile) Gap() int64 { return remoteGap }

// httpStats counts what a file at a URL has cost.
type httpStats struct {
	Requests int64 // redirects and retries included
	Bytes    int64 // of their answers' bodies
	Retries  int64 // of attempts, and of answers whose bytes were wrong
}

// Stats returns the counters.
func (f *httpFile) Stats() httpStats {
	return httpStats{f.requests.Load(), f.received.Load(), f.retries.Load()}
}

// Close ends the reads under way, and fails later ones, with fs.ErrClosed.
func (f *httpFile) Close() error {
	f.stop(fs.ErrClosed)
	return nil
}

// ReadAt implements io.ReaderAt.
func (f *httpFile) ReadAt(p []byte, off int64) (int, error) {
	return f.ReadAtContext(f.ctx, p, off)
}

// ReadAtContext is ReadAt until ctx is done. An error that wraps
// context.Canceled or context.DeadlineExceeded is always that of ctx.
func (f *httpFile) ReadAtContext(ctx context.Context, p []byte, off int64) (int, error) {
	if off < 0 {
		return 0, errors.New("archive: negative offset")
	}
	var end error
	if left := max(0, f.size-off); int64(len(p)) > left {
		p, end = p[:left], io.EOF
	}
	if f.ctx.Err() != nil {
		return 0, f.wrap(off, len(p), f.done(ctx))
	}
	if len(p) == 0 {
		return 0, end
	}
	if ctx != f.ctx {
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(f.ctx, cancel)()
	}
	if isAgain(ctx) {
		f.retries.Add(1)
		n, err := f.fetch(ctx, p, off)
		if err != nil {
			return n, err
		}
		return n, end
	}
	// Only what was not kept at either end is asked for.
	n := 0
	if off < int64(len(f.front)) {
		n = copy(p, f.front[off:])
	}
	to := len(p)
	if over := off + int64(len(p)) - f.tailOff; f.tail != nil && over > 0 {
		to = max(n, len(p)-int(min(over, int64(len(p)))))
		copy(p[to:], f.tail[off+int64(to)-f.tailOff:])
	}
	if n < to {
		got, err := f.fetch(ctx, p[n:to], off+int64(n))
		if err != nil {
			return n + got, err
		}
	}
	return len(p), end
}

// done is why ctx, which ends with the file, has ended.
func (f *httpFile) done(ctx context.Context) error {
	if f.ctx.Err() != nil {
		return context.Cause(f.ctx)
	}
	return ctx.Err()
}

// recheck says ErrRemoteChanged if the last bytes of the file, which hold
// checksums of an archive, are not those it had when opened.
func (f *httpFile) recheck(ctx context.Context) error {
	p := make([]byte, len(f.tail))
	if len(p) == 0 {
		return nil
	}
	if _, err := f.fetch(ctx, p, f.tailOff); err != nil {
		return err
	}
	if !bytes.Equal(p, f.tail) {
		return f.wrap(f.tailOff, len(p), fmt.Errorf("other bytes than before: %w", ErrRemoteChanged))
	}
	return nil
}

// wrap names the URL and the range.
func (f *httpFile) wrap(off int64, n int, err error) error {
	if off == fromEnd {
		return fmt.Errorf("%s: last %d bytes: %w", f.name, n, err)
	}
	return fmt.Errorf("%s: %d bytes at %d: %w", f.name, n, off, err)
}

// fetch fills p with the bytes from off on, in as many attempts as it takes and
// the options allow. It returns how many are there. With fromEnd these are the
// last ones, and may be fewer than p holds.
func (f *httpFile) fetch(ctx context.Context, p []byte, off int64) (int, error) {
	first, all := off, len(p)
	done, failed, renewed := 0, 0, false
	for {
		n, fail := f.attempt(ctx, p[done:], off)
		done += n
		if off == fromEnd && f.size >= 0 {
			// From now on the range is known.
			off = max(0, f.size-int64(len(p)))
			p = p[:f.size-off]
		}
		if off != fromEnd {
			off += int64(n)
		}
		switch {
		case fail == nil:
			return done, nil
		case ctx.Err() != nil:
			return done, f.wrap(first, all, f.done(ctx))
		case fail.renew && !renewed:
			renewed = true
			f.target.Store(f.origin)
			continue
		case !fail.retry:
			return done, f.wrap(first, all, fail.err)
		}
		if n >= progress {
			failed = 0
		}
		if failed++; failed > f.o.Retries {
			err := fail.err
			if failed > 1 {
				err = fmt.Errorf("%w (attempt %d)", err, failed)
			}
			return done, f.wrap(first, all, err)
		}
		wait := min(longestPause, firstPause<<min(failed-1, 10))
		wait = wait/2 + rand.N(wait/2)
		if err := f.o.wait(ctx, max(wait, min(fail.after, longestWished))); err != nil {
			return done, f.wrap(first, all, f.done(ctx))
		}
		f.retries.Add(1)
	}
}

// pause waits unless ctx is done before.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// failure of an attempt.
type failure struct {
	err   error
	retry bool          // another attempt may succeed
	renew bool          // the redirects should be followed again
	after time.Duration // the server's wish
}

func final(format string, args ...any) *failure {
	return &failure{err: fmt.Errorf(format, args...)}
}

// attempt asks once for the bytes from off on and returns how many of them are
// in p now.
func (f *httpFile) attempt(ctx context.Context, p []byte, off int64) (int, *failure) {
	select {
	case f.slots <- struct{}{}:
		defer func() { <-f.slots }()
	case <-ctx.Done():
		return 0, &failure{err: ctx.Err()}
	}
	if f.o.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, f.o.Timeout)
		defer cancel()
	}
	target := f.target.Load()
	res, err := f.client.Do(f.request(ctx, target, len(p), off))
	f.requests.Add(1)
	if err != nil {
		if res != nil {
			res.Body.Close()
		}
		return 0, f.failed(err, res != nil)
	}
	defer res.Body.Close()
	p, fail := f.check(res, p, off)
	if fail != nil {
		if fail.retry && res.ContentLength >= 0 && res.ContentLength <= 4096 {
			// A body read to its end leaves the connection in use.
			io.Copy(io.Discard, res.Body)
		}
		fail.renew = fail.renew && target != f.origin
		return 0, fail
	}
	if r := res.Request; r != nil && *r.URL != *target {
		f.target.CompareAndSwap(target, r.URL)
	}
	n, err := io.ReadFull(res.Body, p)
	f.received.Add(int64(n))
	if err != nil {
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			err = fmt.Errorf("answer ended after %d of %d bytes: %w", n, len(p), io.ErrUnexpectedEOF)
		}
		return n, f.failed(err, false)
	}
	if res.ContentLength < 0 {
		if k, _ := io.ReadFull(res.Body, make([]byte, 1)); k > 0 {
			return 0, final("answer is longer than %d bytes", len(p))
		}
	}
	return n, nil
}

// request makes the request for len bytes from off on.
func (f *httpFile) request(ctx context.Context, target *url.URL, n int, off int64) *http.Request {
	r := (&http.Request{Method: http.MethodGet, URL: target, Host: target.Host, Header: http.Header{}}).WithContext(ctx)
	if trusted(f.origin, target) {
		r.Header = f.header.Clone()
	} else if agent, ok := f.header["User-Agent"]; ok {
		r.Header["User-Agent"] = agent
	}
	if host := r.Header.Get("Host"); host != "" {
		r.Host = host
		r.Header.Del("Host")
	}
	if _, ok := r.Header["User-Agent"]; !ok {
		r.Header.Set("User-Agent", "cdfz")
	}
	// Bytes are counted in the file itself. Naming a coding, if only this one,
	// also keeps the transport from decoding another.
	r.Header.Set("Accept-Encoding", "identity")
	for _, h := range []string{"If-Match", "If-Range", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since"} {
		r.Header.Del(h)
	}
	if isAgain(ctx) {
		// Of the file itself, not of what a cache took for it.
		r.Header.Set("Cache-Control", "no-cache")
	}
	if off == fromEnd {
		r.Header.Set("Range", fmt.Sprintf("bytes=-%d", n))
	} else {
		r.Header.Set("Range", fmt.Sprintf("bytes=%d-%d", off, off+int64(n)-1))
	}
	if strong(f.etag) {
		// Servers obey the first and caches the second; a server that knows
		// neither is found out by what it answers.
		r.Header.Set("If-Match", f.etag)
		r.Header.Set("If-Range", f.etag)
	}
	return r
}

// checkRedirect obeys the client's own rule and keeps secrets from other hosts.
func (f *httpFile) checkRedirect(r *http.Request, via []*http.Request) error {
	f.requests.Add(1)
	if rule := f.o.Client.CheckRedirect; rule != nil {
		if err := rule(r, via); err != nil {
			return err
		}
	} else if len(via) >= 10 {
		return errors.New("more than 10 redirects")
	}
	if r.URL.Scheme != "http" && r.URL.Scheme != "https" {
		return fmt.Errorf("redirect to scheme %q, expected http or https", r.URL.Scheme)
	}
	r.Header.Del("Referer") // it has the query
	if !trusted(f.origin, r.URL) {
		for h := range f.header {
			if h != "User-Agent" {
				r.Header.Del(h)
			}
		}
		// The transport would send the header that a name asks for.
		r.Header.Set("Accept-Encoding", "identity")
	}
	return nil
}

// trusted says whether what is meant for one URL may be sent to the other: to the
// same host and port, or to the https of an http.
func trusted(origin, u *url.URL) bool {
	if !strings.EqualFold(origin.Hostname(), u.Hostname()) {
		return false
	}
	port := func(u *url.URL) string {
		switch {
		case u.Port() != "":
			return u.Port()
		case u.Scheme == "https":
			return "443"
		}
		return "80"
	}
	if origin.Scheme == u.Scheme {
		return port(origin) == port(u)
	}
	return u.Scheme == "https" && port(origin) == "80" && port(u) == "443"
}

// failed sorts an error of the client or of a body.
func (f *httpFile) failed(err error, refused bool) *failure {
	// Its text has the URL with everything in it.
	for {
		var u *url.Error
		if !errors.As(err, &u) {
			break
		}
		err = u.Err
	}
	var dns *net.DNSError
	var cert *tls.CertificateVerificationError
	switch {
	case strings.Contains(err.Error(), "Location header"):
		return final("redirect to a malformed URL")
	case refused, errors.As(err, &cert), errors.As(err, &dns) && dns.IsNotFound:
		return &failure{err: err}
	case errors.Is(err, context.DeadlineExceeded):
		// Not the caller's deadline, which must be able to tell.
		err = fmt.Errorf("no whole answer in time: %w", os.ErrDeadlineExceeded)
	case errors.Is(err, context.Canceled):
		err = errors.New("request cancelled by the client")
	case err == io.EOF:
		err = fmt.Errorf("connection closed: %w", io.ErrUnexpectedEOF)
	}
	return &failure{err: err, retry: true}
}
