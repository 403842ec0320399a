//go:build !plugins || !linux || !(amd64 || arm64)

// Command cdfz-plugin-host loads HDF5 plugins for cdfz. This is what is built of it without the tag plugins, or for a
// system on which it does not exist: it tells that, and cdfz repeats it.
package main

import (
	"fmt"
	"os"
	"runtime"
)

func main() {
	switch system := runtime.GOOS + "/" + runtime.GOARCH; system {
	case "linux/amd64", "linux/arm64":
		fmt.Fprintln(os.Stderr, "cdfz-plugin-host was built without the tag plugins: make host, or go install -tags plugins, builds it")
	default:
		fmt.Fprintf(os.Stderr, "cdfz-plugin-host does not exist for %s, only for linux/amd64 and linux/arm64\n", system)
	}
	os.Exit(1)
}
