// Package volume reads and writes volumes: tar files with an index at the end, in which archives and other files lie
// complete and untouched. docs/volumes.md specifies the bytes, and describes the verb pack, which makes them.
//
// [Open] opens a volume, [Volume.Lookup] finds a member, and [Volume.Members] lists them. [Volume.FS] is an fs.FS of
// the members. archive.Open opens a member by its path or URL, such as vol/0001.tar/1987/tas.nc.cdfz. [NewWriter]
// writes a volume.
//
// Extended attributes and access control lists are not kept, and there is no compression: archives have it inside.
//
// Errors are [ErrNotVolume] for another kind of file, [ErrCorrupt] for damage, archive.ErrVersion for a volume of a later
// version, and those of the source or the sink, wrapped.
package volume

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/cdfz-format/cdfz/archive/internal/fault"
)

// Suffix is the ending of the names of volumes.
const Suffix = ".tar"

// Part of the format, never change.
const (
	indexName = ".cdfz-volume-index"
	comment   = "cdfz volume 1"       // of the global header
	magic     = "cdfz volume "        // of the trailer, before the number of the version
	unit      = 512                   // of tar files
	zeros     = 2 * unit              // at the end of a tar file
	maxPath   = 8192                  // bytes of a path and of a target
	modeBits  = 0o7777                // of st_mode
	maxBlock  = 1 << 20               // bytes of a block's contents
	maxFirsts = 64 << 20              // bytes of the paths in the top level, which can be a thousandth as long
	maxPaths  = 64 << 20              // bytes of the paths in a block
	tailLen   = 64 << 10              // in which the trailer is looked for
	frontLen  = 2 * unit              // of the global header
	nanos     = 1_000_000_000         // of a second
	withNanos = 1                     // flag of a member
	withSum   = 2                     // flag of a member
	allFlags  = withNanos | withSum   //
	maxOffset = 1<<63 - 1 - tailLen*2 // so that sums do not overflow
)

// ErrNotVolume reports a file that is no volume: neither its end nor its first header is that of one.
var ErrNotVolume = errors.New("not a volume")

// ErrPath reports a path or a target that no member of a volume can have.
var ErrPath = errors.New("no path of a member")

// Kind is the kind of a member: its type in the headers of tar files.
type Kind byte

// The kinds of members.
const (
	File     Kind = '0'
	HardLink Kind = '1'
	Symlink  Kind = '2'
	Folder   Kind = '5'
)

// Entry describes a member of a volume.
type Entry struct {
	Path     string // with slashes, any bytes: it need not be UTF-8
	Kind     Kind
	Mode     uint32 // the 12 lowest bits of st_mode
	UID, GID int
	Modified time.Time
	Size     int64    // of the contents of a File, in bytes
	Target   string   // of a link
	Sum      [32]byte // SHA-256 of the contents of a File, if HasSum
	HasSum   bool

	off int64 // of the contents in the volume
}

// FileMode returns the kind and the mode as a program in Go expects them.
func (e *Entry) FileMode() fs.FileMode {
	m := fs.FileMode(e.Mode & 0o777)
	for _, b := range []struct {
		bit  uint32
		mode fs.FileMode
	}{{0o4000, fs.ModeSetuid}, {0o2000, fs.ModeSetgid}, {0o1000, fs.ModeSticky}} {
		if e.Mode&b.bit != 0 {
			m |= b.mode
		}
	}
	switch e.Kind {
	case Folder:
		m |= fs.ModeDir
	case Symlink:
		m |= fs.ModeSymlink
	}
	return m
}

// SetFileMode is the reverse of FileMode for Mode.
func (e *Entry) SetFileMode(m fs.FileMode) {
	e.Mode = uint32(m.Perm())
	if m&fs.ModeSetuid != 0 {
		e.Mode |= 0o4000
	}
	if m&fs.ModeSetgid != 0 {
		e.Mode |= 0o2000
	}
	if m&fs.ModeSticky != 0 {
		e.Mode |= 0o1000
	}
}

// Compare compares two paths in the order of members: byte by byte, where a slash counts less than any other byte.
func Compare(a, b string) int {
	n := min(len(a), len(b))
	for i := range n {
		x, y := a[i], b[i]
		switch {
		case x == y:
			continue
		case x == '/':
			return -1
		case y == '/', x > y:
			return 1
		}
		return -1
	}
	return len(a) - len(b)
}

// CheckPath returns ErrPath if no member can have the path.
func CheckPath(path string) error {
	switch {
	case path == "":
		return fmt.Errorf("%w: it is empty", ErrPath)
	case len(path) > maxPath:
		return fmt.Errorf("%w: it has %d bytes, expected at most %d", ErrPath, len(path), maxPath)
	case strings.IndexByte(path, 0) >= 0:
		return fmt.Errorf("%w: %.100q has a zero byte", ErrPath, path)
	case path == indexName:
		return fmt.Errorf("%w: %s is that of the index", ErrPath, indexName)
	}
	for part := range strings.SplitSeq(path, "/") {
		if part == "" || part == "." || part == ".." {
			return fmt.Errorf("%w: %.100q has a part %q", ErrPath, path, part)
		}
	}
	return nil
}

// check returns an error for a member that no volume can have.
func (e *Entry) check() error {
	if err := CheckPath(e.Path); err != nil {
		return err
	}
	switch e.Kind {
	case File, Folder:
	case HardLink:
		return CheckPath(e.Target)
	case Symlink:
		if e.Target == "" || len(e.Target) > maxPath || strings.IndexByte(e.Target, 0) >= 0 {
			return fmt.Errorf("%w: the target of %.100q has %d bytes, expected 1 to %d and no zero byte", ErrPath, e.Path, len(e.Target), maxPath)
		}
	default:
		return fmt.Errorf("%w: %.100q has the type %q", ErrPath, e.Path, e.Kind)
	}
	return nil
}

// ErrCorrupt reports damage of a volume. It is archive.ErrCorrupt, too.
var ErrCorrupt error = corruptError{}

type corruptError struct{}

func (corruptError) Error() string        { return "damaged volume" }
func (corruptError) Is(target error) bool { return target == fault.ErrCorrupt }

// corrupt returns an error of damage.
func corrupt(format string, args ...any) error {
	return fmt.Errorf("volume: "+format+": %w", append(args, ErrCorrupt)...)
}
