package fileio

import (
	"errors"
	"net"
	"net/url"
	"strings"

	"github.com/cdfz-format/cdfz/internal/s3"
	"github.com/cdfz-format/cdfz/internal/storage"
	"github.com/cdfz-format/cdfz/internal/urls"
)

// answered is what is known of a file at a URL.
type answered struct {
	url   string
	shown bool // cdfz serves it
}

// Stored returns where an input is stored.
func (n *Inputs) Stored(in *Input) (*storage.Place, error) {
	switch {
	case in.fileOf() != nil:
		return n.Mounts.Of(in.fileOf())
	case in.remote == nil: // standard input
		return storage.Web(false), nil
	case s3.IsURL(in.remote.url):
		return storage.Object(urls.Store(in.remote.url)), nil
	}
	return storage.Web(in.remote.shown), nil
}

// Same returns an error if two inputs are one file, or may be: it proves nothing that they have the same bytes.
func (n *Inputs) Same(x, y *Input) error {
	p, err := n.Stored(x)
	if err != nil {
		return err
	}
	q, err := n.Stored(y)
	if err != nil {
		return err
	}
	if err := p.Same(q); err != nil || x.fileOf() != nil && y.fileOf() != nil {
		return err
	}
	for _, in := range []*Input{x, y} {
		if in.fileOf() == nil && in.remote == nil {
			return errors.New("nobody knows which file standard input is")
		}
	}
	if x.remote == nil || y.remote == nil {
		r := x.remote
		if r == nil {
			r = y.remote
		}
		if !s3.IsURL(r.url) && storage.IsLocal(r.host()) {
			return errors.New("a server on this machine may read the same file")
		}
		return nil
	}
	if s3.IsURL(x.remote.url) && s3.IsURL(y.remote.url) {
		if x.remote.url == y.remote.url {
			return errors.New("it is the same object")
		}
		return nil
	}
	return sameURL(x, y)
}

// host returns the host of a URL without its port.
func (r *answered) host() string {
	u, err := url.Parse(r.url)
	if err != nil {
		return ""
	}
	return strings.ToLower(u.Hostname())
}

// sameURL returns an error if two URLs lead to one file, or may do so. Servers have many names for a file, so
// that what they tell about it must differ, too.
func sameURL(x, y *Input) error {
	r, o := x.remote, y.remote
	switch {
	case r.path() == o.path():
		return errors.New("it is the same URL")
	case x.ETag != "" && y.ETag != "":
		if x.ETag == y.ETag {
			return errors.New("its server gives it the same ETag")
		}
	case !x.Modified.IsZero() && !y.Modified.IsZero():
		if x.Modified.Equal(y.Modified) {
			return errors.New("its server gives it the same time of modification")
		}
	case r.host() == o.host():
		return errors.New("nobody knows whether two URLs of a server are one file")
	}
	return nil
}

// path returns a URL without user, query and fragment, in one spelling.
func (r *answered) path() string {
	u, err := url.Parse(r.url)
	if err != nil {
		return r.url
	}
	port := u.Port()
	if port == "" {
		port = u.Scheme
	} else if port == "80" && u.Scheme == "http" || port == "443" && u.Scheme == "https" {
		port = u.Scheme
	}
	return net.JoinHostPort(r.host(), port) + u.JoinPath().Path
}
