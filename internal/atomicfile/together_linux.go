package atomicfile

import (
	"fmt"
	"os"
	"slices"
	"sync"

	"golang.org/x/sys/unix"
)

// flushedTogether lists the file systems on which syncfs does for all files what fsync does for
// one. Network file systems, FUSE and stacked file systems are not among them.
var flushedTogether = []int64{unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC}

// reportsErrors tells whether syncfs reports that data could not be written: since Linux 5.8
// (syncfs(2)).
var reportsErrors = sync.OnceValue(func() bool {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return false
	}
	return since58(unix.ByteSliceToString(u.Release[:]))
})

func since58(release string) bool {
	var major, minor int
	_, err := fmt.Sscanf(release, "%d.%d", &major, &minor)
	return err == nil && (major > 5 || major == 5 && minor >= 8)
}

// volumeOf returns a number of the file system of a file, if files on it can be flushed together.
func volumeOf(f *os.File) (id uint64, ok bool) {
	if !reportsErrors() {
		return 0, false
	}
	var kind unix.Statfs_t
	var st unix.Stat_t
	fd := int(f.Fd())
	if unix.Fstatfs(fd, &kind) != nil || !slices.Contains(flushedTogether, int64(kind.Type)) || unix.Fstat(fd, &st) != nil {
		return 0, false
	}
	return uint64(st.Dev), true
}

// flushVolume writes a file system to disk.
func flushVolume(folder *os.File) error {
	fd := int(folder.Fd())
	if err := uninterrupted(func() error { return unix.Syncfs(fd) }); err != nil {
		return os.NewSyscallError("syncfs", err)
	}
	// ext4 without a journal writes its inodes last, and then does not tell the disk to empty
	// its own cache. The flush of any file does.
	if err := uninterrupted(func() error { return unix.Fsync(fd) }); err != nil {
		return os.NewSyscallError("fsync", err)
	}
	return nil
}
