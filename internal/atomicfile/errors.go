package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// ErrLocked is returned by Lock if another process holds the lock.
var ErrLocked = errors.New("file is locked by another process")

// FolderError is the error of Create if no file can be made in the folder of the target.
type FolderError struct {
	Dir string
	Err error
}

// Error implements error.
func (e *FolderError) Error() string { return "cannot write in folder " + e.Dir + ": " + e.Err.Error() }

// Unwrap returns Err.
func (e *FolderError) Unwrap() error { return e.Err }

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

// Cause returns the system's error in err, without the name of a temporary file.
func Cause(err error) error {
	var p *fs.PathError
	var l *os.LinkError
	var s *os.SyscallError
	switch {
	case errors.As(err, &p):
		return p.Err
	case errors.As(err, &l):
		return l.Err
	case errors.As(err, &s):
		return s.Err
	}
	return err
}
