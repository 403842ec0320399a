package remote

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"strings"
)

// Redact returns a URL without user, password, query and fragment, for messages and
// reports. Other names are returned unchanged. A name counts as a URL if it begins with
// a scheme and a slash, or with http or https and a colon, whatever space and quotes
// come before. A URL that does not parse loses everything up to its last @, since any
// part before it may be a password.
func Redact(name string) string {
	scheme, rest, ok := cutScheme(strings.TrimLeft(name, " \t\r\n\"'`<"))
	web := strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https")
	if !ok || !strings.HasPrefix(rest, "/") && !web {
		return name
	}
	if u, err := url.Parse(name); err == nil && u.Host != "" {
		return display(u)
	}
	slashes := rest[:len(rest)-len(strings.TrimLeft(rest, "/"))]
	rest = rest[strings.LastIndexByte(rest, '@')+1:]
	if i := strings.LastIndex(rest, "%40"); i >= 0 { // an escaped @
		rest = rest[i+len("%40"):]
	}
	if i := strings.IndexAny(rest, "?#"); i >= 0 {
		rest = rest[:i]
	}
	return scheme + ":" + slashes + strings.TrimLeft(rest, "/")
}

// cutScheme splits a name at the colon after a scheme (RFC 3986, 3.1). A single letter
// does not count, since it may be a drive.
func cutScheme(name string) (scheme, rest string, ok bool) {
	scheme, rest, ok = strings.Cut(name, ":")
	if !ok || len(scheme) < 2 {
		return "", "", false
	}
	for i, c := range scheme {
		letter := 'a' <= c|0x20 && c|0x20 <= 'z'
		if !letter && (i == 0 || !strings.ContainsRune("0123456789+-.", c)) {
			return "", "", false
		}
	}
	return scheme, rest, true
}

// display formats a URL without secrets.
func display(u *url.URL) string {
	c := *u
	c.User, c.RawQuery, c.ForceQuery, c.Fragment, c.RawFragment = nil, "", false, "", ""
	return c.String()
}

// parseURL parses an http or https URL. User and password become the value of an
// Authorization header. Errors do not quote the URL.
func parseURL(text string) (u *url.URL, auth string, err error) {
	u, err = url.Parse(text)
	if err != nil || u.Opaque != "" || u.Hostname() == "" {
		return nil, "", fmt.Errorf("remote: malformed URL: %w", ErrOptions)
	}
	if u.Scheme != "http" && u.Scheme != "https" {
		return nil, "", fmt.Errorf("remote: URL scheme %q, expected http or https: %w", u.Scheme, ErrOptions)
	}
	if u.User != nil {
		password, _ := u.User.Password()
		auth = "Basic " + base64.StdEncoding.EncodeToString([]byte(u.User.Username()+":"+password))
	}
	u.User, u.Fragment, u.RawFragment = nil, "", ""
	return u, auth, nil
}

// trusted reports whether headers for one URL may be sent to another: to the same host
// and port, or from http to https on the same host.
func trusted(origin, u *url.URL) bool {
	if !strings.EqualFold(origin.Hostname(), u.Hostname()) {
		return false
	}
	if origin.Scheme == u.Scheme {
		return port(origin) == port(u)
	}
	return u.Scheme == "https" && port(origin) == "80" && port(u) == "443"
}

func port(u *url.URL) string {
	switch {
	case u.Port() != "":
		return u.Port()
	case u.Scheme == "https":
		return "443"
	}
	return "80"
}
