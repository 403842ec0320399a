package xattr

import (
	"bytes"
	"errors"
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
func Of(f *os.File) (all map[string][]byte, left []string) {
	names, err := list(int(f.Fd()))
	if err != nil {
		return nil, nil // the file system has none
	}
	total := 0
	for _, name := range names {
		if name == "" {
			continue
		}
		value, err := get(int(f.Fd()), name)
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

func list(fd int) ([]string, error) {
	for b := make([]byte, 1<<10); ; b = make([]byte, 1<<16) {
		n, err := unix.Flistxattr(fd, b)
		switch {
		case err == nil:
			return strings.Split(string(b[:n]), "\x00"), nil
		case errors.Is(err, unix.ERANGE) && len(b) < 1<<16, errors.Is(err, unix.EINTR):
		default:
			return nil, err
		}
	}
}

func get(fd int, name string) ([]byte, error) {
	for b := make([]byte, 1<<8); ; b = make([]byte, 1<<16) {
		n, err := unix.Fgetxattr(fd, name, b)
		switch {
		case err == nil:
			return b[:n], nil
		case errors.Is(err, unix.ERANGE) && len(b) < 1<<16, errors.Is(err, unix.EINTR):
		default:
			return nil, err
		}
	}
}

// Set gives an open file these extended attributes, and removes others that Of would return, apart from ACLs, which
// package access sets. failed names those that it could not set, and why.
func Set(f *os.File, all map[string][]byte) (failed map[string]error) {
	fail := func(name string, err error) {
		if failed == nil {
			failed = map[string]error{}
		}
		failed[name] = err
	}
	has, _ := Of(f)
	for name := range has {
		if _, ok := all[name]; !ok && !isACL(name) {
			if err := unix.Fremovexattr(int(f.Fd()), name); err != nil && !strings.HasPrefix(name, "security.") {
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
		if err := unix.Fsetxattr(int(f.Fd()), name, all[name], 0); err != nil {
			fail(name, err)
		}
	}
	return failed
}

func isACL(name string) bool { return strings.HasPrefix(name, "system.posix_acl_") }
