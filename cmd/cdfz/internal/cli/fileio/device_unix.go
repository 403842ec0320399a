//go:build unix

package fileio

import (
	"io/fs"
	"syscall"
)

// sameDevice reports whether two files are on one file system.
func sameDevice(a, b fs.FileInfo) bool {
	if a == nil || b == nil {
		return false
	}
	x, ok := a.Sys().(*syscall.Stat_t)
	y, ok2 := b.Sys().(*syscall.Stat_t)
	return ok && ok2 && x.Dev == y.Dev
}
