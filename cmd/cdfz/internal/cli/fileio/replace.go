package fileio

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/protect"
	"github.com/cdfz-format/cdfz/internal/atomicfile"
)

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
				return g.a.Receipts.Vouched(ctx, g.path, st, &protect.Held{Archive: true, Damage: atomicfile.Cause(err)})
			}
			return fmt.Errorf("the existing file cannot be read, and may be the only copy of another one: %w", atomicfile.Cause(err))
		}
		defer f.Close()
		now, err := f.Stat()
		if err != nil {
			return atomicfile.Cause(err)
		}
		if !os.SameFile(now, st) {
			return archive.ErrChanged
		}
		return g.may(ctx, &protect.Existing{Path: g.path, Stat: now, R: f, Size: now.Size(), Time: now.ModTime()}, fresh, size)
	}
}

// may returns an error if the target must not replace an existing file.
func (g *guard) may(ctx context.Context, e *protect.Existing, fresh io.ReaderAt, size int64) error {
	return g.a.MayReplace(ctx, e, &protect.New{R: fresh, Size: size, Time: g.time, Unproved: g.unproved(), Workers: g.a.Workers})
}
