//go:build linux

package mount

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// files opens the files of the source, never outside of it.
type files struct{ root *os.Root }

// place is an open folder of the source. The kernel has checked that the caller may search
// this folder. So names are looked up in it, wherever it is now, and never along its path
// again, which may lead through links to a folder that the caller may not search.
type place struct {
	dir  *os.Root
	name string // of the folder when it was opened
}

// top is the root of the source.
func (f files) top() place { return place{f.root, "."} }

// enter opens a folder. The caller must close dir.
func (f files) enter(name string) (place, *syscall.Stat_t, error) {
	dir, err := f.root.OpenRoot(name)
	if err != nil {
		return place{}, nil, err
	}
	st, err := sys(dir.Stat("."))
	if err != nil {
		dir.Close()
	}
	return place{dir, name}, st, err
}

// path returns the name of a file of the folder in the source.
func (p place) path(base string) string { return path.Join(p.name, base) }

// lstat describes a file of the folder.
func (p place) lstat(base string) (*syscall.Stat_t, error) { return sys(p.dir.Lstat(base)) }

// stat describes a file of a folder, or what a link leads to.
func (f files) stat(p place, base string) (st *syscall.Stat_t, link bool, err error) {
	if st, err = p.lstat(base); err != nil || st.Mode&syscall.S_IFMT != syscall.S_IFLNK {
		return st, false, err
	}
	st, err = sys(f.root.Stat(p.path(base)))
	return st, true, err
}

// ident identifies the contents of a file: any change of them changes it.
type ident struct {
	dev, ino     uint64
	size         int64
	mtime, ctime int64 // ns
}

func identOf(st *syscall.Stat_t) ident {
	return ident{uint64(st.Dev), st.Ino, st.Size, st.Mtim.Nano(), st.Ctim.Nano()}
}

// sys returns the system's description of a file.
func sys(st fs.FileInfo, err error) (*syscall.Stat_t, error) {
	if err != nil {
		return nil, err
	}
	return st.Sys().(*syscall.Stat_t), nil
}

// open opens a regular file of the source, after following links. It does not wait for a
// writer if the file has become a pipe. Callers compare what they get with the file that
// they expect.
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

// sameFile reports whether two descriptions are of one file.
func sameFile(a, b *syscall.Stat_t) bool { return a.Dev == b.Dev && a.Ino == b.Ino }

// accessACL is the extended attribute with the access control list of a file.
const accessACL = "system.posix_acl_access"

// Classes of users who may search all folders above a file, as permission bits.
const (
	everybody = 0o777
	owner     = 0o700 // of the file
	nobody    = 0
)

// reach returns who may search all folders from the root to an open file, or fewer users. It
// is for files that links lead to: the kernel checks the folders of the link.
func (f files) reach(file *os.File, st *syscall.Stat_t) uint32 {
	top, err := f.root.Open(".")
	if err != nil {
		return nobody
	}
	defer top.Close()
	from, err := where(top)
	if err != nil {
		return nobody
	}
	to, err := where(file)
	if err != nil {
		return nobody
	}
	name, err := filepath.Rel(from, to)
	if err != nil || !filepath.IsLocal(name) {
		return nobody
	}
	// The path is where the file was. What each step leads to is compared, so that nobody can
	// redirect this walk with links and renamed folders.
	who := uint32(everybody)
	dir := f.root
	names := strings.Split(name, "/")
	for _, base := range names[:len(names)-1] {
		want, err := place{dir, "."}.lstat(base)
		if err != nil {
			return nobody
		}
		next, here, err := files{dir}.enter(base)
		if err != nil {
			return nobody
		}
		defer next.dir.Close()
		switch {
		case !sameFile(want, here):
			return nobody
		case here.Mode&0o111 == 0o111 && !hasACL(next.dir):
		case here.Uid == st.Uid && here.Mode&0o100 != 0:
			who &= owner
		default:
			return nobody
		}
		dir = next.dir
	}
	if last, err := (place{dir, "."}).lstat(names[len(names)-1]); err != nil || !sameFile(last, st) {
		return nobody
	}
	return who
}

// where returns the path of an open file.
func where(f *os.File) (string, error) {
	return os.Readlink("/proc/self/fd/" + strconv.FormatUint(uint64(f.Fd()), 10))
}

// hasACL reports whether a folder has an access control list, or hides whether it has.
func hasACL(dir *os.Root) bool {
	f, err := dir.Open(".")
	if err != nil {
		return true
	}
	defer f.Close()
	_, err = unix.Fgetxattr(int(f.Fd()), accessACL, nil)
	return err != syscall.ENODATA && err != syscall.EOPNOTSUPP
}
