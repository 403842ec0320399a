package protect

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// changed reports whether the status of a file has changed, which shows writes that were
// followed by setting the old time. Removing another name of a file changes it, too, so it
// means nothing for files with several names.
func changed(now, before fs.FileInfo) bool {
	a, ok := now.Sys().(*syscall.Stat_t)
	b, ok2 := before.Sys().(*syscall.Stat_t)
	return ok && ok2 && a.Nlink == 1 && b.Nlink == 1 && a.Ctim != b.Ctim
}

// unwritten returns an error if a program has the file open for writing. Only the owner of
// a file and root can find out, and not on all file systems.
func unwritten(f *os.File) error {
	_, err := unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_RDLCK)
	if err == nil {
		_, _ = unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_UNLCK)
		return nil
	}
	if errors.Is(err, unix.EAGAIN) {
		return errors.New("another program has it open for writing")
	}
	return nil
}

// dropCache lets later reads of a flushed file come from the disk.
func dropCache(f *os.File) { _ = unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED) }
