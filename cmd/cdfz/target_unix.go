//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package main

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// removesOpen: open files can be removed and renamed.
const removesOpen = true

// tryLock locks a file until it is closed, if nobody else has.
func tryLock(f *os.File) bool {
	return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil
}

// renameOpen gives a temporary file its name, over what is there.
func renameOpen(_ *os.File, tmp, path string) error { return os.Rename(tmp, path) }

// renameNew gives a temporary file its name, which must be free.
func renameNew(_ *os.File, tmp, path string) error {
	err := os.Link(tmp, path)
	if err == nil {
		return os.Remove(tmp)
	}
	if errors.Is(err, fs.ErrExist) {
		return err
	}
	// A file system without links.
	if _, err := os.Lstat(path); err == nil {
		return fs.ErrExist
	}
	return os.Rename(tmp, path)
}

// syncDir writes the names in a folder to the disk, where that can be done.
func syncDir(dir string) {
	if d, err := os.Open(dir); err == nil {
		d.Sync()
		d.Close()
	}
}
