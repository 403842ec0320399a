package remote

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"strings"
)

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
