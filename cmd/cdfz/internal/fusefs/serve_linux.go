//go:build linux && !386 && !arm

package fusefs

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// devFUSE is the kernel's side of all FUSE file systems.
const devFUSE = "/dev/fuse"

// MountDevice mounts an empty FUSE file system on a folder in the present mount namespace, without
// fusermount3. It needs the capability CAP_SYS_ADMIN in the present user namespace. Nothing
// in the folder can be used until a process, in any namespace, calls Serve with the device. If
// all copies of the device are closed, everything in the folder fails with ENOTCONN. The file
// system ends when its last mount ends, at the latest with the last process of the namespace.
//
// at must not have links. Errors are *fs.PathError.
func MountDevice(at string) (device *os.File, err error) {
	device, err = os.OpenFile(devFUSE, os.O_RDWR, 0)
	if err != nil {
		if errors.Is(err, os.ErrNotExist) {
			err = pathError(at, ErrNoFUSE)
		}
		return nil, err
	}
	// As libfuse does. The kernel does not check permissions: the server does what the user may do.
	options := fmt.Sprintf("fd=%d,rootmode=%o,user_id=%d,group_id=%d,max_read=%d", device.Fd(), syscall.S_IFDIR, os.Geteuid(), os.Getegid(), maxRequest)
	if err := syscall.Mount(at, at, "fuse.cdfz", syscall.MS_NOSUID|syscall.MS_NODEV, options); err != nil {
		device.Close()
		return nil, pathError(at, err)
	}
	return device, nil
}

// Serve shows the folder src in a file system that MountDevice has mounted. As in Mount, originals
// appear in the place of archives. Other files and folders can also be created, changed, renamed
// and deleted; this happens at once in src, with the rights of this process. Its file mode
// creation mask must be 0, since the kernel has applied that of the caller. Changes of
// originals, and of the names of archives that are not shown, fail with EROFS.
//
// Serve takes the device. It returns when requests are answered. done is closed at the end of the
// file system. Options.Idle and AllowOther have no effect. An error is an *fs.PathError with src.
func Serve(device *os.File, src string, opts *Options) (done <-chan struct{}, err error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	o.AllowOther = false
	if o.Cache == 0 {
		o.Cache = DefaultCache
	}
	t, err := newTree(src, &o)
	if err != nil {
		device.Close()
		return nil, err
	}
	t.writable, t.oneOwner = true, o.OneOwner
	// The library closes its number, which device must not close again.
	fd, err := unix.FcntlInt(device.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	device.Close()
	var server *fuse.Server
	if err == nil {
		server, err = fs.Mount(fmt.Sprintf("/dev/fd/%d", fd), t.top(), t.serveOptions(src, &o))
	}
	if err != nil {
		t.source.root.Close()
		return nil, pathError(src, err)
	}
	ended := make(chan struct{})
	go func() {
		server.Wait()
		close(ended)
	}()
	return ended, nil
}

// serveOptions are those of Serve.
func (t *tree) serveOptions(src string, o *Options) *fs.Options {
	out := t.options(src, o, false)
	out.Options = nil
	out.DisableXAttrs = true // the kernel would ask for one of them before each write
	out.EnableLocks = true   // other programs see them in src
	return out
}

// MoreReadAhead lets the kernel read further ahead in a mounted folder that is served. Only root
// may. Otherwise reading in sequence is slower.
func MoreReadAhead(at string) { setReadAhead(at) }
