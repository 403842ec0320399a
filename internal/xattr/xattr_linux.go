package xattr

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

// maxAll bounds the values that Of reads of one file, in bytes: a value has up to 64 KiB.
const maxAll = 256 << 10

// Of returns the extended attributes of an open file: those of users and of the system, and POSIX ACLs. left names those
// that cannot be read, or that are more than 256 KiB together.
func Of(f *os.File) (all map[string][]byte, left []string) { return item{fd: int(f.Fd())}.all() }

// OfLink returns the extended attributes of the symbolic link with a name in an open folder, as Of does. Only root can set some.
func OfLink(dir *os.File, name string) (all map[string][]byte, left []string) {
	return linkIn(dir, name).all()
}

// item is an open file, or a symbolic link by its path.
type item struct {
	fd   int
	link string
}

// linkIn returns a link in an open folder. There are no calls for the attributes of a link in a folder before Linux 6.13, but
// the folder has a path that no other program can change.
func linkIn(dir *os.File, name string) item {
	return item{link: fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), name)}
}

func (i item) all() (all map[string][]byte, left []string) {
	names, err := i.list()
	if err != nil {
		return nil, nil // the file system has none
	}
	total := 0
	for _, name := range names {
		if name == "" {
			continue
		}
		value, err := i.get(name)
		switch {
		case errors.Is(err, unix.ENODATA):
		case err != nil || !kept(name) || !utf8.ValidString(name) || total+len(value) > maxAll:
			left = append(left, name)
		default:
			if all == nil {
				all = map[string][]byte{}
			}
			all[name] = value
			total += len(value)
		}
	}
	return all, left
}

func (i item) list() ([]string, error) {
	for b := make([]byte, 1<<10); ; b = make([]byte, 1<<16) {
		n, err := 0, error(nil)
		if i.link != "" {
			n, err = unix.Llistxattr(i.link, b)
		} else {
			n, err = unix.Flistxattr(i.fd, b)
		}
		switch {
		case err == nil:
			return strings.Split(string(b[:n]), "\x00"), nil
		case errors.Is(err, unix.ERANGE) && len(b) < 1<<16, errors.Is(err, unix.EINTR):
		default:
			return nil, err
		}
	}
}

func (i item) get(name string) ([]byte, error) {
	for b := make([]byte, 1<<8); ; b = make([]byte, 1<<16) {
		n, err := 0, error(nil)
		if i.link != "" {
			n, err = unix.Lgetxattr(i.link, name, b)
		} else {
			n, err = unix.Fgetxattr(i.fd, name, b)
		}
		switch {
		case err == nil:
			return b[:n], nil
		case errors.Is(err, unix.ERANGE) && len(b) < 1<<16, errors.Is(err, unix.EINTR):
		default:
			return nil, err
		}
	}
}

func (i item) set(name string, value []byte) error {
	if i.link != "" {
		return unix.Lsetxattr(i.link, name, value, 0)
	}
	return unix.Fsetxattr(i.fd, name, value, 0)
}

func (i item) remove(name string) error {
	if i.link != "" {
		return unix.Lremovexattr(i.link, name)
	}
	return unix.Fremovexattr(i.fd, name)
}

// Set gives an open file these extended attributes, and removes others that Of would return, apart from ACLs, which
// package access sets. failed names those that it could not set, and why.
func Set(f *os.File, all map[string][]byte) (failed map[string]error) {
	return item{fd: int(f.Fd())}.setAll(all)
}

// SetLink is Set for the symbolic link with a name in an open folder.
func SetLink(dir *os.File, name string, all map[string][]byte) (failed map[string]error) {
	return linkIn(dir, name).setAll(all)
}

// AddUsers gives an open file those of these extended attributes that users have set, user.*, where its file system has
// some.
func AddUsers(f *os.File, all map[string][]byte) {
	for name, value := range all {
		if strings.HasPrefix(name, "user.") {
			_ = item{fd: int(f.Fd())}.set(name, value)
		}
	}
}

func (i item) setAll(all map[string][]byte) (failed map[string]error) {
	fail := func(name string, err error) {
		if failed == nil {
			failed = map[string]error{}
		}
		failed[name] = err
	}
	has, _ := i.all()
	for name := range has {
		if _, ok := all[name]; !ok && !isACL(name) {
			if err := i.remove(name); err != nil && !strings.HasPrefix(name, "security.") {
				fail(name, err)
			}
		}
	}
	names := make([]string, 0, len(all))
	for name := range all {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		now, ok := has[name]
		if isACL(name) || !kept(name) || ok && bytes.Equal(now, all[name]) {
			continue
		}
		if err := i.set(name, all[name]); err != nil {
			fail(name, err)
		}
	}
	return failed
}

func isACL(name string) bool { return strings.HasPrefix(name, "system.posix_acl_") }
