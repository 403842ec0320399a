package urls

import (
	"net/url"
	"path/filepath"
	"strings"
)

// Below returns the path or URL of a file below a folder or below its URL, which may lack a slash at its end. rel
// is the path of the file there, any text with slashes. It becomes part of the key of an object as it is, and is
// escaped in URLs of other schemes, which keep their query.
func Below(folder, rel string) string {
	if !Is(folder) {
		return filepath.Join(folder, filepath.FromSlash(rel))
	}
	if s := Scheme(folder); s == "s3" || s == "gs" {
		return withSlash(folder) + rel
	}
	parts := strings.Split(rel, "/")
	for i, p := range parts {
		parts[i] = url.PathEscape(p)
	}
	rel = strings.Join(parts, "/")
	end := len(folder)
	if i := strings.IndexAny(folder, "?#"); i >= 0 {
		end = i
	}
	query, _, _ := strings.Cut(folder[end:], "#")
	return withSlash(folder[:end]) + rel + query
}

func withSlash(s string) string {
	if strings.HasSuffix(s, "/") {
		return s
	}
	return s + "/"
}

// Store returns what is common to all URLs of a store or server: the scheme, in lower case, with the bucket or the
// host. It is "" for other names.
func Store(name string) string {
	scheme := Scheme(name)
	if scheme == "s3" || scheme == "gs" {
		_, rest, _ := strings.Cut(name, "://")
		bucket, _, _ := strings.Cut(rest, "/")
		return scheme + "://" + bucket
	}
	u, err := url.Parse(name)
	if err != nil || scheme == "" || u.Host == "" {
		return ""
	}
	return scheme + "://" + u.Host
}
