package atomicfile

import (
	"errors"
	"os"
)

// Lock locks an open file until it is closed. The error is ErrLocked if another process has
// locked it. Lock does nothing if the system or the file system has no locks.
func Lock(f *os.File) error {
	err := sys.lock(f)
	if unsupported(err) {
		return nil
	}
	return err
}

// calls are system calls that some file systems do not support. Tests replace them.
type calls struct {
	lock   func(*os.File) error // ErrLocked if another process holds the lock
	link   func(from, to string) error
	rename func(from, to string) error
	// renameFree renames to a name that must be free, in one step.
	renameFree func(from, to string) error
	remove     func(string) error
	direct     func(f *os.File, on bool) error // bypassing the page cache
	unnamed    bool                            // try O_TMPFILE
	// volumeOf returns a number of the file system of a file, if its files can be flushed together.
	volumeOf    func(f *os.File) (id uint64, ok bool)
	flushVolume func(folder *os.File) error
}

var sys = calls{lock: tryLock, link: os.Link, rename: os.Rename, renameFree: renameFree, remove: os.Remove, direct: setDirect, unnamed: true,
	volumeOf: volumeOf, flushVolume: flushVolume}

// renameNew renames a temporary file to its target, which must not exist. left is the
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
	// The file system has no hard links.
	if _, err := os.Lstat(path); err == nil {
		return "", os.ErrExist
	}
	return "", sys.rename(tmp, path)
}
