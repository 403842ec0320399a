package server

import (
	"net/http"
	"strings"
)

// route answers a request.
func (s *Server) route(w http.ResponseWriter, r *http.Request) {
	p := r.URL.Path
	switch {
	case p == metricsPath:
		s.serveMetrics(w)
	case p == "/":
		redirect(w, pagePath[1:], http.StatusFound)
	case strings.HasPrefix(p, filesPath):
		s.serveFile(w, r, p[len(filesPath):])
	case strings.HasPrefix(p, pagePath):
		s.page.Static(w, r, p[len(pagePath):])
	case strings.HasPrefix(p, apiPath):
		s.servePage(w, r, p[len(apiPath):])
	case strings.HasPrefix(p, zarrPath):
		s.serveZarr(w, r, p[len(zarrPath):])
	case strings.HasPrefix(p, dapPath):
		s.serveDAP(w, r, p[len(dapPath):])
	case p == "/catalog.xml" || p == "/catalog.json":
		s.serveCatalog(w, r, p[1:])
	case strings.HasPrefix(p, catalogPath):
		s.serveCatalog(w, r, p[len(catalogPath):])
	default:
		refuse(w, http.StatusNotFound, "there is nothing at this address")
	}
}
