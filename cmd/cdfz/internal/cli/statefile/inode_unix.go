//go:build unix

package statefile

import (
	"io/fs"
	"syscall"
	"time"
)

// inodeOf returns the number of a file in its file system, and when it was last changed in any way: unlike
// the modification time, programs cannot set that. Both are zero if they are unknown.
func inodeOf(st fs.FileInfo) (inode uint64, changed time.Time) {
	s, ok := st.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, time.Time{}
	}
	return uint64(s.Ino), changedAt(s)
}

// deviceOf returns the number of the device of a file.
func deviceOf(st fs.FileInfo) (device uint64, ok bool) {
	s, ok := st.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return uint64(s.Dev), true
}
