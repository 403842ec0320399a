// Package resolver knows the schemes whose files are read over HTTP: how to find the URL of such a file, and what to add
// to its requests. Package remote reads the files.
package resolver

import (
	"context"
	"io/fs"
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
	mu      sync.RWMutex
	schemes = map[string]Resolver{}
)

// Register adds a scheme, in lower case. Package remote opens its URLs. It is safe for concurrent use.
func Register(scheme string, r Resolver) {
	mu.Lock()
	defer mu.Unlock()
	schemes[scheme] = r
	urls.RegisterLike(scheme, "https")
}

// Of returns the resolver of a URL, or nil.
func Of(name string) Resolver {
	mu.RLock()
	defer mu.RUnlock()
	return schemes[urls.Scheme(name)]
}

// RefusedError is an answer that a resolver's client understands, such as that of an
// object store. Its requests are not repeated.
type RefusedError struct {
	Status int    // of HTTP
	Code   string // of the store, such as NoSuchKey
	Text   string // what it means
}

// Error implements error.
func (e *RefusedError) Error() string { return e.Text + " (" + e.Code + ")" }

// Is matches the errors of package os for missing and forbidden files.
func (e *RefusedError) Is(target error) bool { return Means(e.Status, target) }

// Means reports whether a status of HTTP is fs.ErrNotExist or fs.ErrPermission.
func Means(status int, target error) bool {
	switch target {
	case fs.ErrNotExist:
		return status == http.StatusNotFound || status == http.StatusGone
	case fs.ErrPermission:
		return status == http.StatusUnauthorized || status == http.StatusForbidden
	}
	return false
}
