//go:build linux

package mount

import (
	"io/fs"
	"os"
	"syscall"
)

// files opens the files of the source, never outside of it.
type files struct{ root *os.Root }

// ident identifies the contents of a file: any change of them changes it.
type ident struct {
	dev, ino     uint64
	size         int64
	mtime, ctime int64 // ns
}

func identOf(st *syscall.Stat_t) ident {
	return ident{uint64(st.Dev), st.Ino, st.Size, st.Mtim.Nano(), st.Ctim.Nano()}
}

// lstat describes a file, stat what a link leads to.
func (f files) lstat(name string) (*syscall.Stat_t, error) { return sys(f.root.Lstat(name)) }
func (f files) stat(name string) (*syscall.Stat_t, error)  { return sys(f.root.Stat(name)) }

// sys returns the system's description of a file.
func sys(st fs.FileInfo, err error) (*syscall.Stat_t, error) {
	if err != nil {
		return nil, err
	}
	return st.Sys().(*syscall.Stat_t), nil
}

// open opens a regular file of the source. It does not wait for a writer if the file has
// become a pipe.
func (f files) open(name string) (*os.File, *syscall.Stat_t, error) {
	file, err := f.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	st, err := sys(file.Stat())
	if err == nil && st.Mode&syscall.S_IFMT != syscall.S_IFREG {
		err = syscall.ESTALE
	}
	if err != nil {
		file.Close()
		return nil, nil, err
	}
	return file, st, nil
}
