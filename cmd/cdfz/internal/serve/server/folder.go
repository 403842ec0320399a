package server

import (
	"fmt"
	"html"
	"net/http"
	"net/url"
	"path"
	"strings"
)

// serveFolder answers with the list of a folder, if a name stands for one: of its files, or of
// its data sets of OPeNDAP. Otherwise it returns what the name stands for.
func (s *Server) serveFolder(w http.ResponseWriter, r *http.Request, name string, dap bool) (f *found, done bool, err error) {
	slash := name == "" || strings.HasSuffix(name, "/")
	name = strings.TrimSuffix(name, "/")
	if name == "" {
		name = "."
	}
	f, err = s.source.find(name)
	switch {
	case err == nil && f.Info.IsDir() && slash:
		s.serveList(w, name, dap)
	case err == nil && f.Info.IsDir():
		// The links of a list are relative.
		redirect(w, "./"+url.PathEscape(path.Base(name))+"/", http.StatusMovedPermanently)
	case slash && err != nil:
		s.fail(w, err)
	case slash:
		refuse(w, http.StatusNotFound, "no such folder")
	default:
		return f, false, err
	}
	return nil, true, nil
}

// serveList answers with the list of a folder, as HTML with relative links, which fsspec
// and wget follow.
func (s *Server) serveList(w http.ResponseWriter, name string, dap bool) {
	list, err := s.source.list(name)
	if err != nil {
		s.fail(w, err)
		return
	}
	setHTML(w)
	title := html.EscapeString("/" + strings.TrimPrefix(name, "."))
	if dap {
		title += ": data sets of OPeNDAP"
	}
	fmt.Fprintf(w, `<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>%s</title>
<style>body{font-family:sans-serif;margin:1em}th,td{padding:.1em .6em;text-align:left}td:last-child{text-align:right}</style></head>
<body><h1>%[1]s</h1>
<table><thead><tr><th scope="col">Name</th><th scope="col">Time (UTC)</th><th scope="col">Bytes</th></tr></thead>
<tbody>
`, title)
	if name != "." {
		fmt.Fprint(w, "<tr><td><a href=\"../\">../</a></td><td></td><td></td></tr>\n")
	}
	for _, f := range list {
		base, suffix, size := path.Base(f.shown), "", ""
		switch {
		case f.Info.IsDir():
			base += "/"
		case dap && !s.source.isNetCDF(f):
			continue
		case f.Err != nil:
			size = whyClosed(f.Err)
		case f.Size >= 0: // unknown of joined files until somebody opens them
			size = fmt.Sprint(f.Size)
		}
		if dap && !f.Info.IsDir() {
			suffix = ".html"
		}
		// A name with a colon is not a scheme.
		link := "./" + (&url.URL{Path: base + suffix}).EscapedPath()
		fmt.Fprintf(w, "<tr><td><a href=\"%s\">%s</a></td><td>%s</td><td>%s</td></tr>\n",
			html.EscapeString(link), html.EscapeString(base), f.Info.ModTime().UTC().Format("2006-01-02 15:04"), size)
	}
	fmt.Fprint(w, "</tbody></table></body></html>\n")
}

// setHTML announces a page without scripts.
func setHTML(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'")
}
