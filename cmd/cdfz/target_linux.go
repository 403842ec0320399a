package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// unnamedFiles lets tests switch unnamed files off.
var unnamedFiles = true

// openUnnamed makes a file without a name in a folder. path is only what it is
// called in errors. Not all file systems can do it.
func openUnnamed(dir, path string) (*os.File, error) {
	if !unnamedFiles {
		return nil, errors.ErrUnsupported
	}
	fd, err := unix.Open(filepath.Clean(dir), unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o666)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), path)
	// Without /proc it could never be given its name.
	if _, err := os.Stat(procPath(f)); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// startFlush asks the system to begin writing a range to the disk, and does not
// wait. It is a wish: errors show when the file is synced.
func startFlush(f *os.File, off, n int64) {
	_ = unix.SyncFileRange(int(f.Fd()), off, n, unix.SYNC_FILE_RANGE_WRITE)
}

func procPath(f *os.File) string { return fmt.Sprintf("/proc/self/fd/%d", f.Fd()) }

// nameUnnamed links the file to a name that must be free, and locks it while it
// is a temporary one.
func nameUnnamed(f *os.File, name string) error {
	tryLock(f)
	err := unix.Linkat(unix.AT_FDCWD, procPath(f), unix.AT_FDCWD, name, unix.AT_SYMLINK_FOLLOW)
	if err != nil {
		return &os.LinkError{Op: "link", Old: f.Name(), New: name, Err: err}
	}
	return nil
}
