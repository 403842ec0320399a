//go:build linux || freebsd || openbsd

package verify

import (
	"io/fs"
	"syscall"
)

// changedAt returns when a file was last changed in any way, in nanoseconds since 1970. Unlike the
// modification time, programs cannot set it.
func changedAt(st fs.FileInfo) int64 {
	s, ok := st.Sys().(*syscall.Stat_t)
	if !ok {
		return 0
	}
	return s.Ctim.Nano()
}
