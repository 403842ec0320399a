package remote

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/cdfz-format/cdfz/internal/retry"
)

const (
	// progress is the number of bytes after which the count of failures restarts.
	progress = 64 << 10

	firstPause   = 250 * time.Millisecond
	longestPause = 8 * time.Second
)

// fetch fills p with the bytes from off on, in as many attempts as needed and allowed,
// and returns how many arrived. fromEnd requests the last bytes of the file, which may
// be fewer than len(p). ctx must come from until.
func (f *File) fetch(ctx context.Context, p []byte, off int64) (int, error) {
	first, all := off, len(p)
	done, tries, renewed := 0, 0, false
	policy := retry.Policy{Attempts: 1 + f.o.Retries, First: firstPause, Longest: longestPause, Sleep: f.o.Sleep}
	err := policy.Do(ctx, func() (retry.Next, error) {
		if tries > 0 {
			f.retries.Add(1)
		}
		for {
			n, fail := f.attempt(ctx, p[done:], off)
			done += n
			if off == fromEnd && f.size >= 0 {
				// The first answer made the range known.
				off = max(0, f.size-int64(len(p)))
				p = p[:f.size-off]
			}
			if off != fromEnd {
				off += int64(n)
			}
			if fail == nil {
				return retry.Next{}, nil
			}
			if fail.renew && !renewed && ctx.Err() == nil {
				renewed = true
				f.target.Store(f.origin)
				continue
			}
			if n >= progress {
				tries = 0
			}
			if tries++; fail.retry && tries > 1 && tries == policy.Attempts {
				fail.err = fmt.Errorf("%w (attempt %d)", fail.err, tries)
			}
			return retry.Next{Again: fail.retry, Further: n >= progress, After: min(fail.after, longestWished)}, fail.err
		}
	})
	switch {
	case err == nil:
		return done, nil
	case ctx.Err() != nil:
		err = f.cause(ctx)
	}
	return done, f.wrap(first, all, err)
}

// attempt requests the bytes from off on once and returns how many of them are now in
// p.
func (f *File) attempt(ctx context.Context, p []byte, off int64) (int, *failure) {
	if err := f.slots.Acquire(ctx, 1); err != nil {
		return 0, &failure{err: err}
	}
	defer f.slots.Release(1)
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
			// Reading the body to its end keeps the connection reusable.
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

// failed classifies an error of the client or of a body.
func (f *File) failed(err error, refused bool) *failure {
	// The text of a url.Error contains the whole URL.
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
	case refused, refusedBy(err) != nil, errors.As(err, &cert), errors.As(err, &dns) && dns.IsNotFound:
		return &failure{err: err}
	case errors.Is(err, context.DeadlineExceeded):
		// The attempt timed out. Callers must be able to distinguish this from their
		// own timeouts.
		err = fmt.Errorf("no complete answer in time: %w", os.ErrDeadlineExceeded)
	case errors.Is(err, context.Canceled):
		err = errors.New("request cancelled by the client")
	case err == io.EOF:
		err = fmt.Errorf("connection closed: %w", io.ErrUnexpectedEOF)
	}
	return &failure{err: err, retry: true}
}

// until returns a context that is done when ctx is done or the file is closed.
func (f *File) until(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(f.ctx, cancel)
	return ctx, func() { stop(); cancel() }
}

// cause returns why a context made by until is done.
func (f *File) cause(ctx context.Context) error {
	if f.ctx.Err() != nil {
		return context.Cause(f.ctx)
	}
	return ctx.Err()
}

// wrap adds the URL and the range to an error. The first request for the end of a file also asks whether
// there is one: the answer has nothing to do with the range.
func (f *File) wrap(off int64, n int, err error) error {
	if off == fromEnd {
		if s := (*statusError)(nil); errors.As(err, &s) {
			return fmt.Errorf("remote: %s: %w", f.name, err)
		}
		return fmt.Errorf("remote: %s: last %d bytes: %w", f.name, n, err)
	}
	return fmt.Errorf("remote: %s: %d bytes at %d: %w", f.name, n, off, err)
}
