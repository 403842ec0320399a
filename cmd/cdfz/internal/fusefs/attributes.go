//go:build linux && !386 && !arm

package fusefs

import (
	"context"
	"os"
	"strconv"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// Changes of the attributes of files and folders, and access(2).

// way returns a path that leads to an open file, whatever its name is now.
func way(f *os.File) string { return "/proc/self/fd/" + strconv.FormatUint(uint64(f.Fd()), 10) }

// setattr changes the attributes of a file. h is its open handle, or nil.
func (t *tree) setattr(n *fs.Inode, h fs.FileHandle, in *fuse.SetAttrIn, out *fuse.AttrOut) syscall.Errno {
	t.active.touch()
	var file *os.File
	opened, ok := h.(*passed)
	if ok {
		file = opened.file
	} else {
		var no syscall.Errno
		if file, no = t.handle(n); no != 0 {
			return no
		}
		defer file.Close()
	}
	if err := setattr(file, ok, in); err != nil {
		return errno(err)
	}
	return t.openAttr(file, out)
}

// setattr changes the attributes of a file that was opened by its user, or else by handle.
func setattr(file *os.File, opened bool, in *fuse.SetAttrIn) error {
	uid, user := in.GetUID()
	gid, group := in.GetGID()
	if user || group {
		ids := [2]int{-1, -1} // unchanged
		if user {
			ids[0] = int(uid)
		}
		if group {
			ids[1] = int(gid)
		}
		if err := unix.Fchownat(int(file.Fd()), "", ids[0], ids[1], unix.AT_EMPTY_PATH); err != nil {
			return err
		}
	}
	if mode, ok := in.GetMode(); ok {
		if err := unix.Chmod(way(file), mode&0o7777); err != nil {
			return err
		}
	}
	if size, ok := in.GetSize(); ok {
		// An open file may be truncated whatever its permissions are now.
		var err error
		if opened {
			err = unix.Ftruncate(int(file.Fd()), int64(size))
		} else {
			err = unix.Truncate(way(file), int64(size))
		}
		if err != nil {
			return err
		}
	}
	if times := timesOf(in); times != nil {
		return unix.UtimesNanoAt(unix.AT_FDCWD, way(file), times, 0)
	}
	return nil
}

// timesOf returns the times that utimensat(2) sets, or nil for none. The present time is left to the
// system, since those who are not the owner may set only that.
func timesOf(in *fuse.SetAttrIn) []unix.Timespec {
	set := func(given, now uint32, sec uint64, nsec uint32) unix.Timespec {
		switch {
		case in.Valid&now != 0:
			return unix.Timespec{Nsec: unix.UTIME_NOW}
		case in.Valid&given != 0:
			return unix.Timespec{Sec: int64(sec), Nsec: int64(nsec)}
		}
		return unix.Timespec{Nsec: unix.UTIME_OMIT}
	}
	if in.Valid&(fuse.FATTR_ATIME|fuse.FATTR_MTIME) == 0 {
		return nil
	}
	return []unix.Timespec{
		set(fuse.FATTR_ATIME, fuse.FATTR_ATIME_NOW, in.Atime, in.Atimensec),
		set(fuse.FATTR_MTIME, fuse.FATTR_MTIME_NOW, in.Mtime, in.Mtimensec),
	}
}

// access reports whether this process may use a file as access(2) asks.
func (t *tree) access(n *fs.Inode, mask uint32) syscall.Errno {
	t.active.touch()
	f, no := t.handle(n)
	if no != 0 {
		return no
	}
	defer f.Close()
	return errno(unix.Faccessat(unix.AT_FDCWD, way(f), mask, 0))
}

// Setattr implements fs.NodeSetattrer.
func (d *writableFolder) Setattr(_ context.Context, h fs.FileHandle, in *fuse.SetAttrIn, out *fuse.AttrOut) syscall.Errno {
	return d.t.setattr(&d.Inode, h, in, out)
}

// Access implements fs.NodeAccesser.
func (d *writableFolder) Access(_ context.Context, mask uint32) syscall.Errno {
	return d.t.access(&d.Inode, mask)
}

// Setattr implements fs.NodeSetattrer.
func (o *writableFile) Setattr(_ context.Context, h fs.FileHandle, in *fuse.SetAttrIn, out *fuse.AttrOut) syscall.Errno {
	return o.t.setattr(&o.Inode, h, in, out)
}

// Access implements fs.NodeAccesser.
func (o *writableFile) Access(_ context.Context, mask uint32) syscall.Errno {
	return o.t.access(&o.Inode, mask)
}
