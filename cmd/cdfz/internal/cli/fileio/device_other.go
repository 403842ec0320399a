//go:build !unix

package fileio

import (
	"io/fs"
	"os"
)

// sameDevice reports whether two files are surely on one file system.
func sameDevice(a, b fs.FileInfo) bool { return a != nil && b != nil && os.SameFile(a, b) }
