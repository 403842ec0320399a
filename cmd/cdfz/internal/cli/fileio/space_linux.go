package fileio

import (
	"slices"

	"golang.org/x/sys/unix"
)

// space returns the free bytes and files of the file system of a folder. files is -1 if it has no limit.
func space(dir string) (bytes, files int64, ok bool) {
	var st unix.Statfs_t
	if unix.Statfs(dir, &st) != nil || st.Blocks == 0 {
		return 0, 0, false // some file systems have no size
	}
	files = -1
	if st.Files > 0 {
		files = int64(st.Ffree)
	}
	return int64(st.Bavail) * int64(st.Bsize), files, true
}

// longestName returns the longest name in a folder in bytes, 0 if unknown.
func longestName(dir string) int {
	var st unix.Statfs_t
	if unix.Statfs(dir, &st) != nil {
		return 0
	}
	return int(st.Namelen)
}

// writable returns an error if no file can be made in a folder.
func writable(dir string) error {
	return unix.Faccessat(unix.AT_FDCWD, dir, unix.W_OK|unix.X_OK, unix.AT_EACCESS)
}

// CanRemove returns an error if files cannot be removed from a folder.
func CanRemove(dir string) error { return writable(dir) }

// clones reports whether the file system of a folder is of a kind that can share bytes between files.
func clones(dir string) bool {
	const bcachefs, zfs = 0xca451a4e, 0x2fc12fc1
	var st unix.Statfs_t
	return unix.Statfs(dir, &st) == nil && slices.Contains([]int64{unix.BTRFS_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, bcachefs, zfs}, int64(st.Type))
}
