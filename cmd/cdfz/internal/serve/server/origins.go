package server

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
)

// AnyOrigin stands for all origins in Options.Origins.
const AnyOrigin = "*"

// ParseOrigin checks an origin as browsers send it, such as https://viewer.example or http://localhost:8000, or
// AnyOrigin.
func ParseOrigin(text string) error {
	if text == AnyOrigin {
		return nil
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || !IsHost(u.Hostname()) || u.Scheme+"://"+u.Host != text {
		return fmt.Errorf("expected an origin such as https://viewer.example:8443, without a path, or %s, found %.80q", AnyOrigin, text)
	}
	return nil
}

// share allows pages of other origins to read an answer, and to see what readers of ranges need. They never get
// answers that need a password, since nothing here allows credentials.
func (s *Server) share(h http.Header, r *http.Request) {
	if len(s.opts.Origins) == 0 {
		return
	}
	allowed := AnyOrigin
	if !slices.Contains(s.opts.Origins, AnyOrigin) {
		h.Add("Vary", "Origin")
		if allowed = r.Header.Get("Origin"); !slices.Contains(s.opts.Origins, allowed) {
			return
		}
	}
	h.Set("Access-Control-Allow-Origin", allowed)
	h.Set("Access-Control-Expose-Headers", "Content-Range, ETag")
}
