package fileio

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/protect"
	"github.com/cdfz-format/cdfz/internal/atomicfile"
	"github.com/cdfz-format/cdfz/internal/ioat"
)

// MayReplace judges a new file that does not hold the image of the old archive. It returns nil only if
// the user gave the options Force and ReplaceOther, and no receipt vouches for the archive.
func (a *IO) MayReplace(path string, old, new *protect.Held) error {
	if a.Vouched != nil {
		if err := a.Vouched(path, old); err != nil {
			return err
		}
	}
	if a.Force && a.ReplaceOther {
		return nil
	}
	return protect.OtherImage(old, new)
}

// CheckKind returns an error unless a file is empty or of the kind that Overwrites names.
func (a *IO) CheckKind(r io.ReaderAt, size int64) error {
	if size == 0 {
		return nil
	}
	if err := a.Overwrites.Check(r, size); err != nil {
		return fmt.Errorf("-f overwrites only %s: %w", a.Overwrites.Name, err)
	}
	return nil
}

// guard decides whether the target of this run may replace an existing file. All targets of all
// verbs pass it.
type guard struct {
	a    *IO
	path string
	time time.Time // of the source
	// unproved reports that nobody has compared the new file with what it was made from.
	unproved func() bool
	own      bool // it may replace its source
}

func (a *IO) guard(path string, src *Input) *guard {
	g := &guard{a: a, path: path, unproved: func() bool { return true }}
	if src != nil && src.Stat != nil {
		g.time = src.Stat.ModTime()
	}
	return g
}

// file is MayReplace of packages archive and atomicfile.
func (g *guard) file(ctx context.Context) func(fs.FileInfo, io.ReaderAt, int64) error {
	return func(st fs.FileInfo, fresh io.ReaderAt, size int64) error {
		if !st.Mode().IsRegular() { // a link that leads nowhere
			return nil
		}
		if g.a.isInput(st) && !g.own {
			return atomicfile.ErrSame
		}
		if g.a.KeptAs != nil {
			if !os.SameFile(g.a.KeptAs, st) {
				return archive.ErrChanged
			}
			return nil
		}
		f, err := os.Open(g.path)
		if err != nil {
			if g.a.ReplaceOther {
				return nil
			}
			return fmt.Errorf("the existing file cannot be read, and may be an archive of another file: %w", atomicfile.Cause(err))
		}
		defer f.Close()
		now, err := f.Stat()
		if err != nil {
			return atomicfile.Cause(err)
		}
		if !os.SameFile(now, st) {
			return archive.ErrChanged
		}
		return g.may(ctx, &existing{f, now.Size(), now.ModTime()}, fresh, size)
	}
}

// existing is a file or an object that a target is to replace.
type existing struct {
	r    io.ReaderAt
	size int64
	time time.Time
}

// may returns an error if the target must not replace an existing file.
func (g *guard) may(ctx context.Context, e *existing, fresh io.ReaderAt, size int64) error {
	if g.a.Overwrites != nil {
		return g.a.CheckKind(e.r, e.size)
	}
	old, err := protect.Look(ctx, g.path, e.r, e.size)
	if err != nil {
		return fmt.Errorf("looking at the existing file: %w", err)
	}
	if !old.Archive {
		return nil
	}
	old.Time = e.time
	f, err := archive.New(ioat.Live(ctx, fresh), size, &archive.OpenOptions{Cache: -1})
	made := new(protect.Held)
	if err == nil {
		made = protect.HeldBy(f)
	}
	if made.Covers(old) {
		if !g.unproved() {
			return nil
		}
		err := f.Image().Copy(ctx, nil, &archive.CopyOptions{Workers: g.a.Workers, SHA256: true})
		if !errors.Is(err, archive.ErrCorrupt) {
			return err
		}
		made.Damage = err
	}
	made.Time = g.time
	return g.a.MayReplace(g.path, old, made)
}
