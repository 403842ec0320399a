package fileio

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
	"github.com/cdfz-format/cdfz/internal/atomicfile"
	"github.com/cdfz-format/cdfz/internal/nofollow"
	"github.com/cdfz-format/cdfz/internal/s3"
)

const (
	nameMax = 255  // bytes of a name, unless the file system tells another limit
	pathMax = 4095 // bytes of a path that programs can open (PATH_MAX of Linux)
)

// CanMake returns the error that making the target of a job would have, as far as it can be known without
// writing: a name that is too long, something in the way of a folder, or no permission. A path that is too long is
// a warning, since archives can be made there.
func (t *Targets) CanMake(j File, target string, term *terminal.Printer) error {
	if s3.IsURL(target) {
		return nil
	}
	at, st := t.lands(j)
	longest := longestName(at)
	if longest <= 0 {
		longest = nameMax
	}
	for part := range strings.SplitSeq(filepath.ToSlash(target), "/") {
		if len(part) > longest {
			return fmt.Errorf("%s: %w: a name of %d bytes, expected at most %d", target, syscall.ENAMETOOLONG, len(part), longest)
		}
	}
	if n := atomicfile.TemporaryLen(filepath.Base(target)); n > longest {
		return fmt.Errorf("%s: %w: its temporary name has %d bytes, expected at most %d", target, syscall.ENAMETOOLONG, n, longest)
	}
	if abs, err := filepath.Abs(target); err == nil && len(abs) > pathMax {
		term.Message("warning: %s: a path of %d bytes: most programs and receipts take up to %d", target, len(abs), pathMax)
	}
	cannot := func(err error) error { return &atomicfile.FolderError{Dir: filepath.Dir(target), Err: err} }
	if t.dest.IsDir() {
		for dir := filepath.Dir(target); dir != filepath.Clean(t.dest.Name) && dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
			switch is, err := os.Lstat(dir); {
			case err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) && !errors.Is(err, syscall.ENAMETOOLONG):
				return cannot(atomicfile.Cause(err))
			case err == nil && is.Mode()&fs.ModeSymlink != 0:
				return cannot(nofollow.ErrLink)
			case err == nil && !is.IsDir():
				return cannot(nofollow.ErrNotFolder)
			}
		}
	}
	if is, err := os.Stat(filepath.Dir(target)); err == nil && !is.IsDir() {
		return cannot(nofollow.ErrNotFolder) // a volume
	}
	if st == nil {
		return nil
	}
	if err := writable(at); err != nil {
		return cannot(err)
	}
	return nil
}

// Room is what a file system has for targets.
type Room struct {
	Place string // a folder on it, as messages show it
	Bytes int64  // for this user
	Files int64  // that can be made; -1 if unknown
	st    fs.FileInfo
	// clones is set if the file system may share bytes between files.
	clones bool
}

// Rooms are the file systems of targets.
type Rooms []*Room

// Of returns the room for the target of a job. It is nil for objects, and where the system does not tell.
func (r *Rooms) Of(t *Targets, j File) *Room {
	if s3.IsURL(t.dest.Name) {
		return nil
	}
	at, st := t.lands(j)
	if st == nil {
		return nil
	}
	for _, known := range *r {
		if sameDevice(known.st, st) {
			return known
		}
	}
	room := &Room{Place: at, st: st, clones: clones(at)}
	if t.dest.Name != "" {
		room.Place = t.dest.Name
	}
	var ok bool
	if room.Bytes, room.Files, ok = space(at); !ok {
		return nil
	}
	*r = append(*r, room)
	return room
}

// MayShare reports whether a copy of a file there may share the bytes of the file, and take no room.
func (r *Room) MayShare(file fs.FileInfo) bool {
	return file != nil && r.clones && sameDevice(r.st, file)
}
