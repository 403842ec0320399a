package atomicfile

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// startFlush asks the system to start writing a range to disk, without waiting. Errors
// are reported when the file is synced.
func startFlush(f *os.File, off, n int64) {
	_ = unix.SyncFileRange(int(f.Fd()), off, n, unix.SYNC_FILE_RANGE_WRITE)
}

// setDirect makes the writes of a file bypass the page cache, or use it again.
func setDirect(f *os.File, on bool) error {
	flags, err := unix.FcntlInt(f.Fd(), unix.F_GETFL, 0)
	if err != nil {
		return err
	}
	if flags &^= unix.O_DIRECT; on {
		flags |= unix.O_DIRECT
	}
	_, err = unix.FcntlInt(f.Fd(), unix.F_SETFL, flags)
	return err
}

// withoutHoles are the numbers of file systems that write zeros where a file was skipped.
var withoutHoles = []int64{unix.MSDOS_SUPER_MAGIC, unix.EXFAT_SUPER_MAGIC, 0x4244 /* HFS */, 0x482b /* HFS+ */}

// hasHoles reports whether a file system has holes, as far as that is known.
func hasHoles(f *os.File) bool {
	var st unix.Statfs_t
	if uninterrupted(func() error { return unix.Fstatfs(int(f.Fd()), &st) }) != nil {
		return true
	}
	return !slices.Contains(withoutHoles, int64(st.Type)&0xffffffff)
}

// punch makes a hole, and leaves the length.
func punch(f *os.File, off, n int64) error {
	return unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, off, n)
}

// setTime sets the times of an open file.
func setTime(f *os.File, m time.Time) error {
	t, err := unix.TimeToTimespec(m)
	if err != nil {
		return err
	}
	return setTimes(f, []unix.Timespec{t, t})
}

// SetModified sets the modification time of an open file. The time of the last access stays. It fails with
// [errors.ErrUnsupported] except on Linux.
func SetModified(f *os.File, m time.Time) error {
	t, err := unix.TimeToTimespec(m)
	if err != nil {
		return err
	}
	return setTimes(f, []unix.Timespec{{Nsec: unix.UTIME_OMIT}, t})
}

// setTimes is futimens(3). [os.Chtimes] takes the nanoseconds since 1970 as an int64, which ends in 2262.
func setTimes(f *os.File, times []unix.Timespec) error {
	err := unix.UtimesNanoAt(int(f.Fd()), "", times, unix.AT_EMPTY_PATH)
	if err != nil { // Linux before 5.8
		err = unix.UtimesNanoAt(unix.AT_FDCWD, procPath(f), times, 0)
	}
	return err
}

func procPath(f *os.File) string { return fmt.Sprintf("/proc/self/fd/%d", f.Fd()) }

func renameFree(in *place, from, to string) error {
	dir := in.at()
	if err := unix.Renameat2(dir, in.name(from), dir, in.name(to), unix.RENAME_NOREPLACE); err != nil {
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
	}
	return nil
}

func exchange(in *place, a, b string) error {
	dir := in.at()
	if err := unix.Renameat2(dir, in.name(a), dir, in.name(b), unix.RENAME_EXCHANGE); err != nil {
		return &os.LinkError{Op: "exchange", Old: a, New: b, Err: err}
	}
	return nil
}

// syncTree writes the files in a folder to disk, with everything else of its file system:
// one flush for all files.
func syncTree(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := unix.Syncfs(int(f.Fd())); err != nil {
		return &os.PathError{Op: "syncfs", Path: dir, Err: err}
	}
	return nil
}

// SetLinkAttributes gives the symbolic link with a name its owner, if this is root, and its modification time.
func SetLinkAttributes(dir *os.Root, name string, uid, gid int, m time.Time) error {
	f, err := dir.Open(".")
	if err != nil {
		return err
	}
	defer f.Close()
	if os.Geteuid() == 0 {
		err = unix.Fchownat(int(f.Fd()), name, uid, gid, unix.AT_SYMLINK_NOFOLLOW)
	} else {
		_ = unix.Fchownat(int(f.Fd()), name, -1, gid, unix.AT_SYMLINK_NOFOLLOW)
	}
	t, timeErr := unix.TimeToTimespec(m)
	if timeErr == nil {
		timeErr = unix.UtimesNanoAt(int(f.Fd()), name, []unix.Timespec{{Nsec: unix.UTIME_OMIT}, t}, unix.AT_SYMLINK_NOFOLLOW)
	}
	return errors.Join(err, timeErr)
}
