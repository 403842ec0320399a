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
	Place  string          // of the targets, as messages show it
	covers func(File) bool // nil for every file
}

// Covers reports whether the target of a file cannot be written either.
func (b *Barrier) Covers(j File) bool { return b.All() || b.covers(j) }

// All reports whether no target at all can be written.
func (b *Barrier) All() bool { return b.covers == nil }

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

// ofAll marks an error of a target of several files: no other target is begun.
type ofAll struct{ error }

func (e *ofAll) Unwrap() error { return e.error }

// OfAll marks an error of a target of several files, after which no other one is begun. err may be nil.
func OfAll(err error) error {
	if err == nil {
		return nil
	}
	return &ofAll{err}
}

// fullOrReadOnly are errors of a whole file system.
var fullOrReadOnly = []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EROFS}

// Barrier returns what an error of a file means for the targets of others, nil if it concerns this file alone.
func (t *Targets) Barrier(j File, err error) *Barrier {
	if errors.As(err, new(*atomicfile.TempError)) {
		return nil // others may need no temporary file, or a shorter one
	}
	if errors.As(err, new(*ofAll)) {
		return &Barrier{Place: terminal.ShowTarget(t.dest.Name)}
	}
	if s3.IsURL(t.dest.Name) {
		var target *ofTarget
		if errors.As(err, &target) && refusesAll(target) {
			return &Barrier{Place: terminal.ShowTarget(t.dest.Name)}
		}
		return nil
	}
	is := func(e error) bool { return errors.Is(err, e) }
	var folder *atomicfile.FolderError
	inFolder := errors.As(err, &folder)
	switch {
	case t.dest.IsStdout():
	case slices.ContainsFunc(fullOrReadOnly, is):
		at, st := t.lands(j)
		if t.dest.Name != "" {
			at = t.dest.Name
		}
		return &Barrier{at, func(other File) bool {
			_, now := t.lands(other)
			return sameDevice(st, now)
		}}
	case !t.dest.IsDir() || !inFolder:
	case is(fs.ErrPermission):
		// A folder below that of -o may be closed, too, or others may be open.
		_, st := t.lands(j)
		if _, root := lastFolder(t.dest.Name); os.SameFile(st, root) {
			return &Barrier{t.dest.Name, func(other File) bool {
				_, now := t.lands(other)
				return os.SameFile(now, root)
			}}
		}
	case is(fs.ErrNotExist), is(syscall.ENOTDIR), is(syscall.ESTALE), is(nofollow.ErrReplaced), is(nofollow.ErrNotFolder):
		if st, err := os.Stat(t.dest.Name); err != nil || !st.IsDir() {
			return &Barrier{Place: t.dest.Name}
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
func (t *Targets) lands(j File) (string, fs.FileInfo) {
	switch {
	case t.dest.Name == "":
		return lastFolder(filepath.Dir(j.LocalName()))
	case t.dest.IsDir():
		return lastFolder(filepath.Join(t.dest.Name, filepath.Dir(j.Rel)))
	}
	return lastFolder(filepath.Dir(t.dest.Name))
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
