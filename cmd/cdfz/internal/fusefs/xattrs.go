//go:build linux && !386 && !arm

package fusefs

import (
	"context"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/cdfz-format/cdfz/archive/archivefs"
	"github.com/cdfz-format/cdfz/internal/storage"
)

// Getxattr implements fs.NodeGetxattrer. The kernel asks for access control lists, which it
// obeys.
func (d *folder) Getxattr(_ context.Context, attr string, dest []byte) (uint32, syscall.Errno) {
	if attr != accessACL || !d.t.lists {
		return viewMark(attr, dest)
	}
	p, leave, no := d.t.enter(&d.Inode)
	if no != 0 {
		return 0, no
	}
	defer leave()
	f, err := p.dir.Open(".")
	if err != nil {
		return 0, errno(err)
	}
	defer f.Close()
	return acl(f, dest)
}

// Getxattr implements fs.NodeGetxattrer.
func (o *other) Getxattr(_ context.Context, attr string, dest []byte) (uint32, syscall.Errno) {
	if attr != accessACL || !o.t.lists || o.Mode() != syscall.S_IFREG { // nothing else can be opened
		return viewMark(attr, dest)
	}
	f, st, err := o.t.source.open(nameOf(&o.Inode))
	if err != nil {
		return 0, errno(err)
	}
	defer f.Close()
	if o.t.inode(st.Sys().(*syscall.Stat_t)) != o.StableAttr().Ino {
		return 0, syscall.ESTALE
	}
	return acl(f, dest)
}

// Getxattr implements fs.NodeGetxattrer.
func (n *imageNode) Getxattr(_ context.Context, attr string, dest []byte) (uint32, syscall.Errno) {
	if attr != accessACL || !n.t.lists || n.who != everybody || n.member {
		return viewMark(attr, dest)
	}
	f, st, err := n.t.source.open(n.name)
	if err != nil {
		return 0, errno(err)
	}
	defer f.Close()
	if archivefs.IdentOf(n.name, st) != n.id {
		return 0, syscall.ESTALE
	}
	return acl(f, dest)
}

// viewMark answers for the attribute of all files and folders.
func viewMark(attr string, dest []byte) (uint32, syscall.Errno) {
	const value = "1"
	switch {
	case attr != storage.ShownAttribute:
		return 0, syscall.ENODATA
	case len(dest) > 0 && len(dest) < len(value):
		return 0, syscall.ERANGE
	}
	copy(dest, value)
	return uint32(len(value)), 0
}

// acl reads the access control list of a file.
func acl(f *os.File, dest []byte) (uint32, syscall.Errno) {
	n, err := unix.Fgetxattr(int(f.Fd()), accessACL, dest)
	if err != nil {
		return 0, errno(err)
	}
	return uint32(n), 0
}
