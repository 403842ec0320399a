// Package storagetest finds folders on a disk, for tests.
package storagetest

import (
	"fmt"
	"os"

	"github.com/cdfz-format/cdfz/internal/storage"
)

// OnDisk makes temporary folders lie on a disk, for tests that delete files because others were flushed: if the
// system's are in memory, they will be below the working folder. TestMain calls it, and done at the end.
func OnDisk() (done func()) {
	if keeps(os.TempDir()) {
		return func() {}
	}
	dir, err := os.MkdirTemp(".", ".tmp-")
	if err == nil {
		defer func() { _ = os.Setenv("TMPDIR", dir) }()
		if wd, err := os.Getwd(); err == nil {
			dir = wd + string(os.PathSeparator) + dir
		}
	}
	if err != nil || !keeps(dir) {
		fmt.Fprintln(os.Stderr, "storagetest: the tests need a folder on a disk, TMPDIR")
	}
	return func() { os.RemoveAll(dir) }
}

func keeps(dir string) bool {
	f, err := os.CreateTemp(dir, "")
	if err != nil {
		return false
	}
	defer os.Remove(f.Name())
	defer f.Close()
	p, err := new(storage.Mounts).Of(f)
	return err == nil && p.Durable() == nil
}
