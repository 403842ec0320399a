package remote

import (
	"context"
	"net/http"
	"net/url"
	"sync"

	"github.com/cdfz-format/cdfz/internal/urls"
)

// Resolver finds a file of another scheme than http and https. It returns the http or
// https URL of the file and a client that sends requests for it as base does, with what
// the scheme adds, such as signatures. It sends no request itself.
type Resolver func(ctx context.Context, name string, base *http.Client) (*url.URL, *http.Client, error)

var (
	schemesMu sync.RWMutex
	schemes   = map[string]Resolver{}
)

func init() {
	urls.Register("http", openURL)
	urls.Register("https", openURL)
}

// openURL opens a URL for archive.Open.
func openURL(ctx context.Context, name string) (urls.File, error) {
	f, err := Open(ctx, name, nil)
	if err != nil {
		return nil, err // not a File that is nil
	}
	return f, nil
}

// Register makes Open, IsURL and archive.Open know a scheme, in lower case. It replaces an
// earlier resolver of the scheme. It is safe for concurrent use.
func Register(scheme string, r Resolver) {
	schemesMu.Lock()
	defer schemesMu.Unlock()
	schemes[scheme] = r
	urls.Register(scheme, openURL)
}

// resolverOf returns the resolver of a URL, or nil.
func resolverOf(name string) Resolver {
	schemesMu.RLock()
	defer schemesMu.RUnlock()
	return schemes[urls.Scheme(name)]
}

// IsURL reports whether name begins like the URL of a file that a program may open: with http
// or https, a scheme of package s3, or another one that is registered. It may be malformed.
func IsURL(name string) bool { return urls.Is(name) }

// Redact returns a URL without user, password, query and fragment, for messages and
// reports. Other names are returned unchanged. A name counts as a URL if it begins with
// a scheme and a slash, or with http or https and a colon, whatever space and quotes
// come before. A URL that does not parse loses everything up to its last @, since any
// part before it may be a password.
func Redact(name string) string { return urls.Redact(name) }
