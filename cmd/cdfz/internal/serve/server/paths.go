package server

import (
	"net/http"
	"net/url"
	"strings"
)

// The paths of the services.
const (
	healthPath  = "/healthz"
	metricsPath = "/metrics"
	filesPath   = "/files/"
	dapPath     = "/dap/"
	zarrPath    = "/zarr/"
	catalogPath = "/catalog/"
	pagePath    = "/page/" // the page of people
	apiPath     = "/api/"  // its requests about files
)

// up returns the way from the address of a request to the root of the server. Links are relative, because a
// proxy may show the server below a path, and does not tell which.
func up(r *http.Request) string {
	return strings.Repeat("../", strings.Count(r.URL.EscapedPath(), "/")-1)
}

// redirect leads to an address that is relative to that of the request. http.Redirect would make it absolute.
func redirect(w http.ResponseWriter, to string, status int) {
	w.Header().Set("Location", to)
	w.WriteHeader(status)
}

// addresses are those of a file's services. They begin with the way to the root of the server.
type addresses struct{ files, dap, zarr, page string }

func addressesOf(root, name string) addresses {
	at := escaped(name)
	return addresses{root + filesPath[1:] + at, root + dapPath[1:] + at, root + zarrPath[1:] + at + "/", root + pagePath[1:] + "?file=" + url.QueryEscape(name)}
}

// escaped returns a path as a part of a URL.
func escaped(name string) string { return (&url.URL{Path: "/" + name}).EscapedPath()[1:] }

// serviceOf returns the name of a path's service in the metrics.
func serviceOf(path string) string {
	if len(path) > 0 {
		switch name, _, _ := strings.Cut(path[1:], "/"); name {
		case "files", "dap", "zarr", "catalog", "page", "api", "healthz", "metrics":
			return name
		}
	}
	return "other"
}
