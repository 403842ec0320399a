//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package atomicfile

import (
	"io/fs"
	"os"
)

// removesOpen is false, since open files cannot be removed here. No lock is needed
// either: a file that can be removed is not in use.
const removesOpen = false

func tryLock(*os.File) error { return nil }

func linksOf(fs.FileInfo) uint64 { return 1 }

func owner(fs.FileInfo) (uid, gid int, ok bool) { return 0, 0, false }

func idOf(*os.File) (id fileID, ok bool) { return fileID{}, false }

func syncFolder(*os.File) error { return nil }

// removeDir removes an empty folder.
func removeDir(in *os.Root, name string) {
	if st, err := in.Lstat(name); err == nil && st.IsDir() {
		in.Remove(name)
	}
}
