//go:build !linux || !(amd64 || arm64)

package hdf5plugin

import (
	"fmt"
	"runtime"
)

// start fails: there is no cdfz-plugin-host for this system.
func start(Options) (*process, error) {
	return nil, fmt.Errorf("plugin: %w: not supported on %s/%s, only on linux/amd64 and linux/arm64", ErrHost, runtime.GOOS, runtime.GOARCH)
}
