//go:build darwin || freebsd

package storage

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Of looks at an open file or folder.
func (m *Mounts) Of(f *os.File) (*Place, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	var sys unix.Statfs_t
	if err := unix.Fstatfs(int(f.Fd()), &sys); err != nil {
		return nil, os.NewSyscallError("fstatfs", err)
	}
	st := info.Sys().(*syscall.Stat_t)
	p := &Place{info: info, ino: uint64(st.Ino), changed: time.Unix(st.Ctimespec.Unix()).Truncate(time.Microsecond)}
	p.kind, p.at = unix.ByteSliceToString(sys.Fstypename[:]), unix.ByteSliceToString(sys.Mntonname[:])
	p.system = fmt.Sprint(st.Dev)
	for _, name := range m.named {
		p.named = p.named || name == p.system
	}
	from := unix.ByteSliceToString(sys.Mntfromname[:])
	p.volumes = []string{from}
	switch {
	case p.kind == "tmpfs":
		p.weak, p.memory = "it is in memory", true
	case strings.Contains(p.kind, "fuse"):
		p.weak, p.foreign = "a program serves it (FUSE)", true
		p.unknown = "a program serves " + p.at
	case strings.HasPrefix(from, "/"), p.kind == "zfs":
	case strings.Contains(from, ":/"): // of a server
		host, _, _ := strings.Cut(from, ":/")
		p.volumes = []string{"the server " + host}
		if IsLocal(host) {
			p.unknown = "this machine is the server of " + p.at
		}
	default:
		p.unknown = fmt.Sprintf("%s has no device (%s)", p.at, p.kind)
	}
	return p, nil
}

// mountPoint reports whether an open folder is the one that its file system is mounted on.
func mountPoint(f *os.File, p *Place) (bool, error) {
	on, err := os.Stat(p.at)
	return err == nil && os.SameFile(on, p.info), err
}
