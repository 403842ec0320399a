package atomicfile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// openUnnamed makes a file without a name in a folder. Errors call it path. Not all
// file systems support this.
func openUnnamed(dir, path string) (*os.File, error) {
	if !sys.unnamed {
		return nil, errors.ErrUnsupported
	}
	fd, err := unix.Open(filepath.Clean(dir), unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o666)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), path)
	// Without /proc it could never be linked to a name.
	if _, err := os.Stat(procPath(f)); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// startFlush asks the system to start writing a range to disk, without waiting. Errors
// are reported when the file is synced.
func startFlush(f *os.File, off, n int64) {
	_ = unix.SyncFileRange(int(f.Fd()), off, n, unix.SYNC_FILE_RANGE_WRITE)
}

func procPath(f *os.File) string { return fmt.Sprintf("/proc/self/fd/%d", f.Fd()) }

// nameUnnamed links the file to a name that must be free. The file is locked first, in
// case the name is temporary.
func nameUnnamed(f *os.File, name string) error {
	_ = sys.lock(f)
	err := unix.Linkat(unix.AT_FDCWD, procPath(f), unix.AT_FDCWD, name, unix.AT_SYMLINK_FOLLOW)
	if err != nil {
		return &os.LinkError{Op: "link", Old: f.Name(), New: name, Err: err}
	}
	return nil
}

func renameFree(from, to string) error {
	if err := unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, unix.RENAME_NOREPLACE); err != nil {
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
	}
	return nil
}
