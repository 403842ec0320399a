package urls

import (
	"net/url"
	"strings"
)

// Redact returns a URL without user, password, query and fragment, for messages and
// reports. Other names are returned unchanged. A name counts as a URL if it begins with
// a scheme and a slash, or with http or https and a colon, whatever space and quotes
// come before. A URL that does not parse loses everything up to its last @, since any
// part before it may be a password. The URL of an object in a bucket of a store is returned
// unchanged: everything after the bucket is its key, without a query and without escapes.
func Redact(name string) string {
	if inBucket(name) {
		return name
	}
	scheme, rest, ok := cutScheme(strings.TrimLeft(name, " \t\r\n\"'`<"))
	web := strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https")
	if !ok || !strings.HasPrefix(rest, "/") && !web {
		return name
	}
	if u, err := url.Parse(name); err == nil && u.Host != "" {
		return Display(u)
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

// inBucket reports whether a name is the URL of an object or a bucket of a store. Another name may have a
// password in the place of the bucket.
func inBucket(name string) bool {
	if s := Scheme(name); s != "s3" && s != "gs" {
		return false
	}
	_, rest, _ := strings.Cut(name, "://")
	bucket, _, _ := strings.Cut(rest, "/")
	for _, c := range bucket {
		if !('a' <= c|0x20 && c|0x20 <= 'z') && !strings.ContainsRune("0123456789.-_", c) {
			return false
		}
	}
	return bucket != ""
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

// Display formats a URL as Redact does.
func Display(u *url.URL) string {
	c := *u
	c.User, c.RawQuery, c.ForceQuery, c.Fragment, c.RawFragment = nil, "", false, "", ""
	return c.String()
}
