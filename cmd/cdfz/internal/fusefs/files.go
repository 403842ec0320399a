//go:build linux && !386 && !arm

package fusefs

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/cdfz-format/cdfz/archive/archivefs"
	"github.com/cdfz-format/cdfz/internal/nofollow"
)

// files opens the files of the source, never outside of it.
type files struct{ root *os.Root }

// place is an open folder of the source. The kernel has checked that the caller may search
// this folder. So names are looked up in it, wherever it is now, and never along its path
// again, which may lead through links to a folder that the caller may not search.
type place struct {
	files
	dir  *os.Root
	name string // of the folder when it was opened
}

var _ fs.ReadLinkFS = place{}

// top is the root of the source.
func (f files) top() place { return place{f, f.root, "."} }

// enter opens a folder. The caller must close dir.
func (f files) enter(name string) (place, fs.FileInfo, error) {
	dir, err := f.root.OpenRoot(name)
	if err != nil {
		return place{}, nil, err
	}
	st, err := dir.Stat(".")
	if err != nil {
		dir.Close()
	}
	return place{f, dir, name}, st, err
}

// path returns the name of a file of the folder in the source.
func (p place) path(base string) string { return path.Join(p.name, base) }

// Lstat implements fs.ReadLinkFS.
func (p place) Lstat(base string) (fs.FileInfo, error) { return p.dir.Lstat(base) }

// ReadLink implements fs.ReadLinkFS.
func (p place) ReadLink(base string) (string, error) { return p.dir.Readlink(base) }

// Stat implements fs.StatFS. Links may lead to other folders of the source.
func (p place) Stat(base string) (fs.FileInfo, error) {
	st, err := p.dir.Lstat(base)
	if err == nil && st.Mode()&fs.ModeSymlink != 0 {
		st, err = p.root.Stat(p.path(base))
	}
	return st, err
}

// Open implements fs.FS, for regular files and the folder itself. The file is the one that Stat
// describes: ErrReplaced reports that the path leads elsewhere.
func (p place) Open(base string) (fs.File, error) {
	if base == "." {
		return p.dir.Open(".")
	}
	want, err := p.Stat(base)
	if err != nil {
		return nil, err
	}
	f, now, err := p.open(p.path(base))
	if err != nil {
		return nil, err
	}
	if !os.SameFile(want, now) {
		f.Close()
		return nil, archivefs.ErrReplaced
	}
	return f, nil
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
func (f files) open(name string) (*os.File, fs.FileInfo, error) {
	file, err := f.root.OpenFile(name, os.O_RDONLY|nofollow.NonBlock, 0)
	if err != nil {
		return nil, nil, err
	}
	st, err := file.Stat()
	if err == nil && !st.Mode().IsRegular() {
		err = archivefs.ErrReplaced
	}
	if err != nil {
		file.Close()
		return nil, nil, err
	}
	return file, st, nil
}

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
func (f files) reach(file *os.File, st fs.FileInfo) uint32 {
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
		want, err := dir.Lstat(base)
		if err != nil {
			return nobody
		}
		next, here, err := files{dir}.enter(base)
		if err != nil {
			return nobody
		}
		defer next.dir.Close()
		search := here.Mode().Perm() & 0o111
		switch {
		case !os.SameFile(want, here):
			return nobody
		case search == 0o111 && !hasACL(next.dir):
		case here.Sys().(*syscall.Stat_t).Uid == st.Sys().(*syscall.Stat_t).Uid && search&0o100 != 0:
			who &= owner
		default:
			return nobody
		}
		dir = next.dir
	}
	if last, err := dir.Lstat(names[len(names)-1]); err != nil || !os.SameFile(last, st) {
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
