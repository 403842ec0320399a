package remote

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/cdfz-format/cdfz/internal/resolver"
)

// check accepts or refuses a response. It returns the part of p that the body will
// fill.
func (f *File) check(res *http.Response, p []byte, off int64) ([]byte, *failure) {
	code := res.StatusCode
	switch {
	case code == http.StatusPartialContent:
		return f.checkPart(res, p, off)
	case code == http.StatusOK:
		return f.checkWhole(res, p, off)
	case code == http.StatusPreconditionFailed && f.pinned:
		return nil, final("server answered %s: %w", status(code), ErrChanged)
	case code == http.StatusRequestedRangeNotSatisfiable:
		total, ok := strings.CutPrefix(res.Header.Get("Content-Range"), "bytes */")
		size, err := parseLen(total)
		known := ok && err == nil
		switch {
		case known && f.size >= 0 && size != f.size:
			return nil, f.otherSize(size)
		case known && off == fromEnd && size == 0:
			f.size, f.pinned, f.answer = 0, true, res.Header
			return nil, final("%w", errFromEnd)
		case known && off == fromEnd:
			f.size = size
		}
	}
	s := &statusError{code}
	switch {
	case off == fromEnd && (code == 400 || code == 416 || code == 501):
		return nil, final("%w", errFromEnd)
	case code == http.StatusTooManyRequests, code >= 500 && code != 501 && code != 505:
		return nil, &failure{err: s, retry: true, after: retryAfter(res.Header)}
	}
	// A signed target may have expired.
	return nil, &failure{err: s, renew: code == 400 || code == 401 || code == 403 || code == 404 || code == 410}
}

// checkPart checks a 206 (Partial Content).
func (f *File) checkPart(res *http.Response, p []byte, off int64) ([]byte, *failure) {
	if fail := f.checkBody(res); fail != nil {
		return nil, fail
	}
	text := res.Header.Get("Content-Range")
	if off == fromEnd && strings.HasSuffix(text, "/0") {
		// No correct form exists for an empty file; package net/http sends bytes 0--1/0.
		return p[:0], f.pin(res.Header, 0)
	}
	from, to, size, err := parseContentRange(text)
	if err != nil {
		return nil, final("Content-Range %q: %w", text, err)
	}
	if f.size >= 0 && size != f.size {
		return nil, f.otherSize(size)
	}
	if off == fromEnd {
		off = max(0, size-int64(len(p)))
		p = p[:size-off]
	}
	if from != off || to != off+int64(len(p))-1 {
		return nil, final("Content-Range %q, expected bytes %d to %d", text, off, off+int64(len(p))-1)
	}
	if res.ContentLength > int64(len(p)) {
		return nil, final("expected an answer of %d bytes, found %d", len(p), res.ContentLength)
	}
	return p, f.pin(res.Header, size)
}

// checkWhole checks a 200 (OK), which carries the whole file. It is usable if the whole
// file was requested.
func (f *File) checkWhole(res *http.Response, p []byte, off int64) ([]byte, *failure) {
	size := res.ContentLength
	if f.pinned {
		if size >= 0 && size != f.size {
			return nil, f.otherSize(size)
		}
		if fail := f.pin(res.Header, f.size); fail != nil {
			return nil, fail
		}
		if strong(f.etag) && res.Header.Get("ETag") == "" {
			return nil, final("server answered the condition with %s: %w", status(res.StatusCode), ErrChanged)
		}
	}
	switch {
	case size >= 0 && size <= int64(len(p)) && (off == fromEnd || off == 0 && size == int64(len(p))):
		if fail := f.checkBody(res); fail != nil {
			return nil, fail
		}
		return p[:size], f.pin(res.Header, size)
	case off == fromEnd:
		if !res.Uncompressed && res.Header.Get("Content-Encoding") == "" {
			f.size = size // -1 if unknown
		}
		return nil, final("%w", errFromEnd)
	}
	return nil, final("%w: it answered %s with the whole file", ErrNoRanges, status(res.StatusCode))
}

// checkBody refuses an encoded body, whose bytes are not those of the file.
func (f *File) checkBody(res *http.Response) *failure {
	if c := res.Header.Get("Content-Encoding"); res.Uncompressed || c != "" && !strings.EqualFold(c, "identity") {
		if res.Uncompressed {
			c = "gzip"
		}
		return final("answer has Content-Encoding %q, which was not requested", c)
	}
	return nil
}

// pin remembers the validators of the first response and compares those of later ones.
func (f *File) pin(h http.Header, size int64) *failure {
	etag, modified := h.Get("ETag"), h.Get("Last-Modified")
	if !f.pinned {
		f.pinned, f.size, f.etag, f.modified, f.answer = true, size, etag, modified, h
		return nil
	}
	if etag != "" && f.etag != "" {
		// A server or cache may call the same tag weak or strong.
		if strings.TrimPrefix(etag, "W/") != strings.TrimPrefix(f.etag, "W/") {
			return final("ETag %s, expected %s: %w", etag, f.etag, ErrChanged)
		}
		if strong(f.etag) {
			return nil
		}
	}
	if modified != "" && f.modified != "" && modified != f.modified {
		return final("last modified %s, expected %s: %w", modified, f.modified, ErrChanged)
	}
	return nil
}

func (f *File) otherSize(size int64) *failure {
	return final("%d bytes long, expected %d: %w", size, f.size, ErrChanged)
}

// parseContentRange parses "bytes 0-99/1000" (RFC 9110, 14.4).
func parseContentRange(s string) (from, to, size int64, err error) {
	if s == "" {
		return 0, 0, 0, errors.New("missing")
	}
	unit, rest, _ := strings.Cut(s, " ")
	span, total, ok := strings.Cut(rest, "/")
	a, b, dash := strings.Cut(span, "-")
	if !strings.EqualFold(unit, "bytes") || !ok || !dash {
		return 0, 0, 0, errors.New("expected bytes FROM-TO/SIZE")
	}
	if from, err = parseLen(a); err == nil {
		if to, err = parseLen(b); err == nil {
			size, err = parseLen(total)
		}
	}
	if err == nil && (from > to || to >= size) {
		err = errors.New("range outside the file")
	}
	return from, to, size, err
}

// parseLen parses a decimal number without a sign.
func parseLen(s string) (int64, error) {
	n, err := strconv.ParseUint(s, 10, 63)
	if err != nil || s[0] == '+' {
		return 0, errors.New("expected numbers of bytes")
	}
	return int64(n), nil
}

// longestWished bounds the wait that a server may ask for.
const longestWished = time.Minute

// retryAfter returns the wait that a server asks for, or 0.
func retryAfter(h http.Header) time.Duration {
	v := h.Get("Retry-After")
	if s, err := parseLen(v); err == nil {
		return time.Duration(min(s, int64(longestWished/time.Second))) * time.Second
	}
	at, err := http.ParseTime(v)
	if err != nil {
		return 0
	}
	now, err := http.ParseTime(h.Get("Date"))
	if err != nil {
		now = time.Now()
	}
	return max(0, at.Sub(now))
}

// statusError is an unusable HTTP status.
type statusError struct{ code int }

func (e *statusError) Error() string { return "server answered " + status(e.code) }

// Is matches the errors of package os for missing and forbidden files.
func (e *statusError) Is(target error) bool { return resolver.Means(e.code, target) }

// RefusedError is an answer of an object store or the like, which explains itself in the fields Status (of HTTP), Code
// (of the store, such as NoSuchKey) and Text (what it means). Its requests are not repeated. It matches the errors of
// package os for missing and forbidden files.
type RefusedError = resolver.RefusedError

// refusedBy returns the RefusedError that a client returned in place of an answer.
func refusedBy(err error) *RefusedError {
	var e *RefusedError
	if errors.As(err, &e) {
		return e
	}
	return nil
}

func status(code int) string {
	return strings.TrimSpace(strconv.Itoa(code) + " " + http.StatusText(code))
}

// errFromEnd means that the server does not support ranges counted from the end.
var errFromEnd = errors.New("no ranges from the end")

// failure of an attempt.
type failure struct {
	err   error
	retry bool          // another attempt may succeed
	renew bool          // the redirects should be followed again
	after time.Duration // delay requested by the server
}

func final(format string, args ...any) *failure {
	return &failure{err: fmt.Errorf(format, args...)}
}
