//go:build unix

package serve

import (
	"io/fs"
	"syscall"
)

// inode returns the number of a file in its file system.
func inode(st fs.FileInfo) uint64 {
	if s, ok := st.Sys().(*syscall.Stat_t); ok {
		return uint64(s.Ino)
	}
	return 0
}
