//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package access

import (
	"io/fs"
	"os"
	"sync"
	"syscall"
)

// fromInfo returns the rights of a file without an ACL.
func fromInfo(st fs.FileInfo) *Rights {
	r := &Rights{id: st}
	r.fromMode(st.Mode())
	if s, ok := st.Sys().(*syscall.Stat_t); ok {
		r.uid, r.gid = s.Uid, s.Gid
	}
	return r
}

// umask returns the permissions that new files do not get. Files that are made by other goroutines
// meanwhile the first time are narrower than they need be.
var umask = sync.OnceValue(func() fs.FileMode {
	old := syscall.Umask(0o077)
	syscall.Umask(old)
	return fs.FileMode(old).Perm()
})

// chown gives a file the owner and the group of another one, or only the group, as far as the system lets this
// process. It returns false if nothing was changed.
func chown(f *os.File, now, want *Rights) bool {
	if os.Geteuid() == 0 && now.uid != want.uid && f.Chown(int(want.uid), int(want.gid)) == nil {
		return true
	}
	return now.gid != want.gid && f.Chown(-1, int(want.gid)) == nil
}

// me is the user of this process.
func me() uint32 { return uint32(os.Geteuid()) }
