//go:build unix

package pack

import (
	"io/fs"
	"syscall"
)

// node identifies a file that has several names. It is the zero value for others.
type node struct{ dev, ino uint64 }

func nodeOf(st fs.FileInfo) node {
	s, ok := st.Sys().(*syscall.Stat_t)
	if !ok || s.Nlink < 2 {
		return node{}
	}
	return node{uint64(s.Dev), uint64(s.Ino)}
}

func ownerOf(st fs.FileInfo) (uid, gid int) {
	if s, ok := st.Sys().(*syscall.Stat_t); ok {
		return int(s.Uid), int(s.Gid)
	}
	return 0, 0
}
