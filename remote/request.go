package remote

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/cdfz-format/cdfz/internal/ioat"
)

// conditions are the request headers that only this package may set.
var conditions = []string{"If-Match", "If-Range", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since"}

// fromEnd as an offset stands for the last bytes of a file of unknown size.
const fromEnd = -1

// request returns the request for n bytes from off on.
func (f *File) request(ctx context.Context, target *url.URL, n int, off int64) *http.Request {
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
	// Ranges count the bytes of the file itself. Setting this header also keeps the
	// transport from asking for gzip.
	r.Header.Set("Accept-Encoding", "identity")
	for _, h := range conditions {
		r.Header.Del(h)
	}
	if ioat.IsReread(ctx) {
		r.Header.Set("Cache-Control", "no-cache")
	}
	if off == fromEnd {
		r.Header.Set("Range", fmt.Sprintf("bytes=-%d", n))
	} else {
		r.Header.Set("Range", fmt.Sprintf("bytes=%d-%d", off, off+int64(n)-1))
	}
	if strong(f.etag) {
		// Servers obey the first, caches the second. If a server ignores both, its
		// answer shows it.
		r.Header.Set("If-Match", f.etag)
		r.Header.Set("If-Range", f.etag)
	}
	return r
}

// checkRedirect applies the client's own rule and hides secrets from other hosts.
func (f *File) checkRedirect(r *http.Request, via []*http.Request) error {
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
	r.Header.Del("Referer") // contains the query
	if !trusted(f.origin, r.URL) {
		for h := range f.header {
			if h != "User-Agent" {
				r.Header.Del(h)
			}
		}
		// Deleted above if the user set it. Without it the transport requests gzip.
		r.Header.Set("Accept-Encoding", "identity")
	}
	return nil
}

// strong reports whether an ETag identifies the exact bytes (RFC 9110, 8.8.3).
func strong(etag string) bool {
	return len(etag) >= 2 && etag[0] == '"' && etag[len(etag)-1] == '"'
}
