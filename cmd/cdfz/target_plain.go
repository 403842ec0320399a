//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package main

import (
	"io/fs"
	"os"
)

// removesOpen: open files cannot be removed, so no lock is needed: what can be
// removed is in no use.
const removesOpen = false

func tryLock(*os.File) bool { return true }

func renameOpen(f *os.File, tmp, path string) error {
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(tmp, path)
}

func renameNew(f *os.File, tmp, path string) error {
	if _, err := os.Lstat(path); err == nil {
		return fs.ErrExist
	}
	return renameOpen(f, tmp, path)
}

func syncDir(string) {}
