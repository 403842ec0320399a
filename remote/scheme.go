package remote

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"sync"
)

// Resolver finds a file of another scheme than http and https. It returns the http or
// https URL of the file and a client that sends requests for it as base does, with what
// the scheme adds, such as signatures. It sends no request itself.
type Resolver func(ctx context.Context, name string, base *http.Client) (*url.URL, *http.Client, error)

var (
	schemesMu sync.RWMutex
	schemes   = map[string]Resolver{}
)

// Register makes Open and IsURL know a scheme, in lower case. It replaces an earlier
// resolver of the scheme. It is safe for concurrent use.
func Register(scheme string, r Resolver) {
	schemesMu.Lock()
	defer schemesMu.Unlock()
	schemes[scheme] = r
}

// resolverOf returns the resolver of a URL, or nil.
func resolverOf(name string) Resolver {
	scheme, rest, ok := cutScheme(name)
	if !ok || !strings.HasPrefix(rest, "//") {
		return nil
	}
	schemesMu.RLock()
	defer schemesMu.RUnlock()
	return schemes[strings.ToLower(scheme)]
}

// IsURL reports whether name begins like an http or https URL, or like one of a registered
// scheme, whether it is well-formed or not.
func IsURL(name string) bool {
	if resolverOf(name) != nil {
		return true
	}
	scheme, rest, ok := cutScheme(name)
	return ok && strings.HasPrefix(rest, "//") && (strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https"))
}
