//go:build linux && !386 && !arm

package fusefs

import (
	"context"
	"os"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/cdfz-format/cdfz/internal/retry"
)

// passed is an open file of the source, to which all requests are passed on. Its methods are
// those of the library, except for the ones below.
type passed struct {
	*fs.LoopbackFile
	node *writableFile
	file *os.File
}

var (
	_ fs.FileSetlkwer = (*passed)(nil)
	_ fs.FileReleaser = (*passed)(nil)
)

// PassthroughFd tells the library that the kernel may not use the file directly. It would do so only
// for root, and then show changes by others later.
func (*passed) PassthroughFd() (int, bool) { return 0, false }

// Ioctl implements fs.FileIoctler. Numbers of open files and addresses of the caller mean nothing here.
func (*passed) Ioctl(context.Context, uint32, uint64, []byte, []byte) (int32, syscall.Errno) {
	return 0, syscall.ENOTTY
}

// lockPolicy has pauses that a user does not notice.
var lockPolicy = retry.Policy{First: time.Millisecond, Longest: 64 * time.Millisecond}

// Setlkw implements fs.FileSetlkwer. It tries again and again, since nothing could interrupt a system
// call that waits, and the caller could not be killed meanwhile.
func (p *passed) Setlkw(ctx context.Context, owner uint64, lk *fuse.FileLock, flags uint32) (no syscall.Errno) {
	err := lockPolicy.Do(ctx, func() (retry.Next, error) {
		no = p.Setlk(ctx, owner, lk, flags)
		return retry.Next{Again: no == syscall.EAGAIN || no == syscall.EACCES}, nil
	})
	if err != nil { // of ctx
		return syscall.EINTR
	}
	return no
}

// Release implements fs.FileReleaser.
func (p *passed) Release(ctx context.Context) syscall.Errno {
	p.node.closed(p)
	return p.LoopbackFile.Release(ctx)
}

// Locks of images succeed: nobody can change them.

// Getlk implements fs.FileGetlker.
func (*reading) Getlk(_ context.Context, _ uint64, _ *fuse.FileLock, _ uint32, out *fuse.FileLock) syscall.Errno {
	out.Typ = syscall.F_UNLCK
	return 0
}

// Setlk implements fs.FileSetlker.
func (*reading) Setlk(context.Context, uint64, *fuse.FileLock, uint32) syscall.Errno { return 0 }

// Setlkw implements fs.FileSetlkwer.
func (*reading) Setlkw(context.Context, uint64, *fuse.FileLock, uint32) syscall.Errno { return 0 }
