package atomicfile

import (
	"errors"
	"syscall"
)

// ErrLocked is returned by Lock if another process holds the lock.
var ErrLocked = errors.New("file is locked by another process")

// lacking lists the errors of file systems that do not support a call.
var lacking = []error{syscall.ENOSYS, syscall.ENOLCK, syscall.EOPNOTSUPP, syscall.ENOTSUP, syscall.EINVAL}

// unsupported reports whether an error means that the system or the file system does
// not support a call, such as locks on Lustre and some NFS, or sync on some FUSE.
func unsupported(err error) bool {
	if errors.Is(err, errors.ErrUnsupported) {
		return true
	}
	for _, e := range lacking {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}
