package statefile

import (
	"bufio"
	"crypto/sha256"
	"fmt"
	"os"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// fileSystemAt returns a name for the file system of a path, whose device has a number. Such numbers change
// when a computer starts again with other disks, and for NFS and btrfs at each mount. So the name is the
// kind of the file system with
//   - its UUID for XFS, whose f_fsid is the number of the device,
//   - f_fsid of statfs, which ext4, btrfs and others derive from their UUIDs,
//   - or what is mounted, such as the export of a server of NFS, which has no f_fsid.
func fileSystemAt(path string, device uint64) string {
	var st unix.Statfs_t
	if unix.Statfs(path, &st) != nil {
		return ""
	}
	if st.Type == unix.XFS_SUPER_MAGIC {
		if id := xfsUUID(path); id != "" {
			return "xfs-" + id
		}
	}
	if st.Fsid != (unix.Fsid{}) {
		return fmt.Sprintf("%x-%08x%08x", uint64(st.Type), uint32(st.Fsid.Val[0]), uint32(st.Fsid.Val[1]))
	}
	return mounted(device)
}

// xfsGeometry is the request of the geometry of a file system, XFS_IOC_FSGEOMETRY_V1.
const xfsGeometry = 0x80705864

// xfsUUID returns the UUID of the file system of a path in hexadecimal, or "".
func xfsUUID(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	var geometry struct {
		_    [64]byte
		uuid [16]byte
		_    [32]byte
	}
	if _, _, err := unix.Syscall(unix.SYS_IOCTL, f.Fd(), xfsGeometry, uintptr(unsafe.Pointer(&geometry))); err != 0 {
		return ""
	}
	return fmt.Sprintf("%x", geometry.uuid)
}

// mounted returns the kind of the file system with the number of a device, and a sum of what is mounted. It
// is "" if that is unknown.
func mounted(device uint64) string {
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return ""
	}
	defer f.Close()
	number := fmt.Sprintf("%d:%d", unix.Major(device), unix.Minor(device))
	for b := bufio.NewScanner(f); b.Scan(); {
		// 36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue
		before, after, _ := strings.Cut(b.Text(), " - ")
		what, kind := strings.Fields(before), strings.Fields(after)
		if len(what) > 2 && len(kind) > 1 && what[2] == number {
			sum := sha256.Sum256([]byte(kind[1]))
			return fmt.Sprintf("%s-%x", kind[0], sum[:8])
		}
	}
	return ""
}

// bornAt returns when a file was made, in nanoseconds since 1970, or 0.
func bornAt(path string) int64 {
	var st unix.Statx_t
	if err := unix.Statx(unix.AT_FDCWD, path, 0, unix.STATX_BTIME, &st); err != nil || st.Mask&unix.STATX_BTIME == 0 {
		return 0
	}
	return st.Btime.Sec*1e9 + int64(st.Btime.Nsec)
}
