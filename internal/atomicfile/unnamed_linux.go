package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// proc reports that there is /proc.
var proc atomic.Bool

// openUnnamed makes a file without a name in a folder. Errors call it path. Not all
// file systems support this.
func openUnnamed(in *place, path string, mode fs.FileMode) (*os.File, error) {
	if !sys.unnamed {
		return nil, errors.ErrUnsupported
	}
	fd, err := unix.Openat(in.at(), in.name("."), unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, uint32(mode))
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), path)
	// Without /proc it could never be linked to a name.
	if !proc.Load() {
		if _, err := os.Stat(procPath(f)); err != nil {
			f.Close()
			return nil, err
		}
		proc.Store(true)
	}
	return f, nil
}

// nameUnnamed links the file to a name that must be free.
func nameUnnamed(f *os.File, in *place, name string) error {
	err := unix.Linkat(unix.AT_FDCWD, procPath(f), in.at(), in.name(name), unix.AT_SYMLINK_FOLLOW)
	if err != nil {
		return &os.LinkError{Op: "link", Old: f.Name(), New: name, Err: err}
	}
	return nil
}
