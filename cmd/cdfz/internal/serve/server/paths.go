package server

import "strings"

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
