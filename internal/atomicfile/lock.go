package atomicfile

import (
	"errors"
	"os"
	"syscall"
)

// ErrLocked is the error of Lock if another process holds the lock.
var ErrLocked = errors.New("file is locked by another process")

// Lock locks an open file until it is closed. Where the system or the file system
// has no locks it does nothing.
func Lock(f *os.File) error {
	err := sys.lock(f)
	if unsupported(err) {
		return nil
	}
	return err
}

// lacking are the errors of file systems that lack a call.
var lacking = []error{syscall.ENOSYS, syscall.ENOLCK, syscall.EOPNOTSUPP, syscall.ENOTSUP, syscall.EINVAL}

// unsupported reports whether an error means that the system or the file system lacks
// a call: no locks on Lustre and some NFS, no sync on some FUSE.
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

// calls are those that file systems lack; tests replace them.
type calls struct {
	lock   func(*os.File) error // ErrLocked if another process holds the lock
	link   func(from, to string) error
	rename func(from, to string) error
	// renameFree renames to a name that must be free, in one step.
	renameFree func(from, to string) error
	remove     func(string) error
	unnamed    bool // try O_TMPFILE
}

var sys = calls{lock: tryLock, link: os.Link, rename: os.Rename, renameFree: renameFree, remove: os.Remove, unnamed: true}

// renameNew renames a temporary file to its target, which must be free. left is the
// temporary name if it could not be removed.
func renameNew(tmp, path string) (left string, err error) {
	err = sys.renameFree(tmp, path)
	if err == nil || errors.Is(err, os.ErrExist) {
		return "", err
	}
	switch err = sys.link(tmp, path); {
	case err == nil:
		if sys.remove(tmp) != nil {
			return tmp, nil
		}
		return "", nil
	case errors.Is(err, os.ErrExist):
		return "", err
	}
	// A file system without links.
	if _, err := os.Lstat(path); err == nil {
		return "", os.ErrExist
	}
	return "", sys.rename(tmp, path)
}
