package fileio

import (
	"cmp"
	"net/url"
	"path"
	"path/filepath"

	"github.com/cdfz-format/cdfz/internal/s3"
	"github.com/cdfz-format/cdfz/internal/urls"
	"github.com/cdfz-format/cdfz/remote"
)

// LocalName returns the path that a target is named after: a FILE argument, or the last
// element or else the host of a URL. Those of objects have no escapes. One without host is "url".
func LocalName(name string) string {
	if !remote.IsURL(name) {
		return name
	}
	if s3.IsURL(name) && urls.Redact(name) == name {
		if base := path.Base(name[len("s3:"):]); base != "/" {
			return base
		}
		return "url"
	}
	u, err := url.Parse(urls.Redact(name))
	if err != nil {
		return "url"
	}
	if base := path.Base("/" + u.Path); base != "/" {
		return base
	}
	return cmp.Or(u.Hostname(), "url")
}

// LocalName is the function LocalName for a file. Objects below a prefix keep their path below it.
func (j File) LocalName() string {
	if j.object {
		return j.Rel
	}
	return LocalName(j.Name)
}

// BaseName returns the name of a FILE argument without folders.
func BaseName(name string) string { return filepath.Base(LocalName(name)) }
