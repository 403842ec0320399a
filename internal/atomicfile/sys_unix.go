//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// removesOpen reports that open files can be removed and renamed.
const removesOpen = true

// tryLock locks a file until it is closed, unless another process has locked it.
func tryLock(f *os.File) error {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return ErrLocked
	}
	return err
}

// Owner returns the user and the group of a file.
func Owner(st fs.FileInfo) (uid, gid int, ok bool) {
	s, ok := st.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0, false
	}
	return int(s.Uid), int(s.Gid), true
}

// linksOf returns the number of names of a file.
func linksOf(st fs.FileInfo) uint64 {
	if s, ok := st.Sys().(*syscall.Stat_t); ok {
		return uint64(s.Nlink)
	}
	return 1
}

// Identity returns what tells a file from others on this computer, and the number of its names. ok is false where the
// system does not tell.
func Identity(st fs.FileInfo) (id [2]uint64, names uint64, ok bool) {
	s, ok := st.Sys().(*syscall.Stat_t)
	if !ok {
		return id, 1, false
	}
	return [2]uint64{uint64(s.Dev), uint64(s.Ino)}, uint64(s.Nlink), true
}

// at returns what names of the folder are looked up in by system calls.
func (p *place) at() int {
	if p.f == nil {
		return unix.AT_FDCWD
	}
	return int(p.f.Fd())
}

// name returns a name of the folder for system calls with at.
func (p *place) name(name string) string {
	if p.f == nil {
		return p.join(name)
	}
	return name
}

// idOf returns the numbers of an open file.
func idOf(f *os.File) (id fileID, ok bool) {
	var st unix.Stat_t
	if uninterrupted(func() error { return unix.Fstat(int(f.Fd()), &st) }) != nil {
		return fileID{}, false
	}
	return fileID{uint64(st.Dev), uint64(st.Ino)}, true
}

// syncFolder writes the names in a folder to disk.
func syncFolder(dir *os.File) error {
	if err := uninterrupted(func() error { return unix.Fsync(int(dir.Fd())) }); err != nil {
		return &os.PathError{Op: "sync", Path: dir.Name(), Err: err}
	}
	return nil
}

// removeDir removes an empty folder.
func removeDir(in *os.Root, name string) {
	if f, err := in.Open("."); err == nil {
		_ = unix.Unlinkat(int(f.Fd()), name, unix.AT_REMOVEDIR)
		f.Close()
	}
}

// uninterrupted repeats a call that a signal interrupted.
func uninterrupted(call func() error) error {
	for {
		if err := call(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// Link gives the file with a name in a folder another name, also in another folder.
func Link(from *os.Root, name string, to *os.Root, other string) error {
	src, err := from.Open(".")
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := to.Open(".")
	if err != nil {
		return err
	}
	defer dst.Close()
	if err := unix.Linkat(int(src.Fd()), name, int(dst.Fd()), other, 0); err != nil {
		return &os.LinkError{Op: "link", Old: name, New: other, Err: err}
	}
	return nil
}
