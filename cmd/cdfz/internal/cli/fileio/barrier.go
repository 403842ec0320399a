package fileio

import (
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
	"github.com/cdfz-format/cdfz/internal/atomicfile"
	"github.com/cdfz-format/cdfz/internal/nofollow"
	"github.com/cdfz-format/cdfz/internal/s3"
	"github.com/cdfz-format/cdfz/remote"
)

// Barrier is a reason why targets cannot be written that holds for other files, too: a full or read-only file
// system, a folder of targets that is gone or closed, or a store that refuses.
type Barrier struct {
	Place  string // of the targets, as messages show it
	covers func(File) bool
}

// Covers reports whether the target of a file cannot be written either. b may be nil.
func (b *Barrier) Covers(j File) bool { return b != nil && b.covers(j) }

// ofTarget marks an error of the object that is a target.
type ofTarget struct{ error }

func (e *ofTarget) Unwrap() error { return e.error }

// OfTarget marks an error of the object that is a target, not a source. err may be nil.
func OfTarget(err error) error {
	if err == nil {
		return nil
	}
	return &ofTarget{err}
}

// fullOrReadOnly are errors of a whole file system.
var fullOrReadOnly = []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EROFS}

// Barrier returns what an error of a file means for the targets of others, nil if it concerns this file alone.
func (a *IO) Barrier(j File, err error) *Barrier {
	if s3.IsURL(a.Dest) {
		var target *ofTarget
		if errors.As(err, &target) && refusesAll(target) {
			return &Barrier{terminal.ShowTarget(a.Dest), func(File) bool { return true }}
		}
		return nil
	}
	is := func(e error) bool { return errors.Is(err, e) }
	var folder *atomicfile.FolderError
	inFolder := errors.As(err, &folder)
	switch {
	case a.Dest == terminal.StdoutName:
	case slices.ContainsFunc(fullOrReadOnly, is):
		at, st := a.lands(j)
		if a.Dest != "" {
			at = a.Dest
		}
		return &Barrier{at, func(other File) bool {
			_, now := a.lands(other)
			return sameDevice(st, now)
		}}
	case !a.IsDirDest() || !inFolder:
	case is(fs.ErrPermission):
		// A folder below that of -o may be closed, too, or others may be open.
		_, st := a.lands(j)
		if _, root := lastFolder(a.Dest); os.SameFile(st, root) {
			return &Barrier{a.Dest, func(other File) bool {
				_, now := a.lands(other)
				return os.SameFile(now, root)
			}}
		}
	case is(fs.ErrNotExist), is(syscall.ENOTDIR), is(syscall.ESTALE), is(nofollow.ErrReplaced), is(nofollow.ErrNotFolder):
		if st, err := os.Stat(a.Dest); err != nil || !st.IsDir() {
			return &Barrier{a.Dest, func(File) bool { return true }}
		}
	}
	return nil
}

// refusesAll reports whether a store would refuse other objects, too.
func refusesAll(err error) bool {
	var r *remote.RefusedError
	if !errors.As(err, &r) {
		return false
	}
	switch r.Status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusInsufficientStorage:
		return true
	}
	return r.Code == "NoSuchBucket" || r.Code == "QuotaExceeded"
}

// lands returns the last folder on the way to the target of a job that exists.
func (a *IO) lands(j File) (string, fs.FileInfo) {
	switch {
	case a.Dest == "":
		return lastFolder(filepath.Dir(j.LocalName()))
	case a.IsDirDest():
		return lastFolder(filepath.Join(a.Dest, filepath.Dir(j.Rel)))
	}
	return lastFolder(filepath.Dir(a.Dest))
}

// lastFolder returns the last folder of a path that exists.
func lastFolder(dir string) (string, fs.FileInfo) {
	for dir = filepath.Clean(dir); ; dir = filepath.Dir(dir) {
		st, err := os.Stat(dir)
		if err == nil && st.IsDir() || dir == filepath.Dir(dir) {
			return dir, st
		}
	}
}
