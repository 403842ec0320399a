//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package atomicfile

import (
	"io/fs"
	"os"
	"path/filepath"
)

// removesOpen is false, since open files cannot be removed here. No lock is needed
// either: a file that can be removed is not in use.
const removesOpen = false

func tryLock(*os.File) error { return nil }

func linksOf(fs.FileInfo) uint64 { return 1 }

func Owner(fs.FileInfo) (uid, gid int, ok bool) { return 0, 0, false }

func idOf(*os.File) (id fileID, ok bool) { return fileID{}, false }

func syncFolder(*os.File) error { return nil }

// removeDir removes an empty folder.
func removeDir(in *os.Root, name string) {
	if st, err := in.Lstat(name); err == nil && st.IsDir() {
		in.Remove(name)
	}
}

// Identity tells nothing here.
func Identity(fs.FileInfo) (id [2]uint64, names uint64, ok bool) { return id, 1, false }

// Link gives the file with a name in a folder another name, also in another folder.
func Link(from *os.Root, name string, to *os.Root, other string) error {
	return os.Link(filepath.Join(from.Name(), name), filepath.Join(to.Name(), other))
}
