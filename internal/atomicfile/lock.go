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
	link   func(in *place, from, to string) error
	rename func(in *place, from, to string) error
	// renameFree renames to a name that must be free, in one step.
	renameFree   func(in *place, from, to string) error
	exchange     func(in *place, a, b string) error // of two names, in one step
	remove       func(in *place, name string) error
	renameFolder func(from, to string) error
	direct       func(f *os.File, on bool) error // bypassing the page cache
	punch        func(f *os.File, off, n int64) error
	hasHoles     func(f *os.File) bool // its file system does not write what is skipped
	unnamed      bool                  // try O_TMPFILE
	nameUnnamed  func(f *os.File, in *place, name string) error
	// volumeOf returns a number of the file system of a file, if its files can be flushed together.
	volumeOf    func(f *os.File) (id uint64, ok bool)
	flushVolume func(folder *os.File) error
}

var sys = calls{lock: tryLock, link: (*place).Link, rename: (*place).Rename, renameFree: renameFree, exchange: exchange, remove: (*place).Remove, renameFolder: os.Rename, direct: setDirect, hasHoles: hasHoles, punch: punch, unnamed: true, nameUnnamed: nameUnnamed,
	volumeOf: volumeOf, flushVolume: flushVolume}

// renameNew renames a temporary file to its target, which must not exist. left is the
// temporary name if it could not be removed.
func renameNew(in *place, tmp, base string) (left string, err error) {
	err = sys.renameFree(in, tmp, base)
	if err == nil || errors.Is(err, os.ErrExist) {
		return "", err
	}
	switch err = sys.link(in, tmp, base); {
	case err == nil:
		if sys.remove(in, tmp) != nil {
			return tmp, nil
		}
		return "", nil
	case errors.Is(err, os.ErrExist):
		return "", err
	}
	// The file system has no hard links.
	if _, err := in.Lstat(base); err == nil {
		return "", os.ErrExist
	}
	return "", sys.rename(in, tmp, base)
}
