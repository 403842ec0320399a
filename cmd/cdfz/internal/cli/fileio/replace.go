package fileio

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/archive/repair"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/display"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
	"github.com/cdfz-format/cdfz/internal/atomicfile"
	"github.com/cdfz-format/cdfz/internal/ioat"
)

// Held is what a file holds that may be replaced.
type Held struct {
	Archive bool // it is an archive, intact or damaged
	// The image of an archive. Name and SHA256 are empty if the archive is too damaged to tell.
	Name   string
	Size   int64
	SHA256 string
	// Source is the SHA-256 of the file that was rounded to the image, or "".
	Source string
	Time   time.Time // of the file that was looked at, or of its source
	Damage error     // found on opening it
}

// Look returns what a file holds. An archive that does not open is searched for its manifest. A
// file that has neither the head nor the tail of one is searched only if it is named like an
// archive.
func Look(ctx context.Context, name string, r io.ReaderAt, size int64) (*Held, error) {
	f, err := archive.New(ioat.Live(ctx, r), size, &archive.OpenOptions{Cache: -1})
	if err == nil {
		return HeldBy(f), nil
	}
	h := &Held{Damage: err}
	if !errors.Is(err, archive.ErrCorrupt) && !errors.Is(err, archive.ErrVersion) {
		ours, probeErr := archive.IsArchive(r, size)
		if probeErr != nil {
			return nil, probeErr
		}
		if !ours && !strings.HasSuffix(name, Suffix) {
			return &Held{}, nil
		}
	}
	id, err := repair.Identify(ctx, r, size)
	switch {
	case errors.Is(err, archive.ErrNotArchive):
		return &Held{}, nil
	case err != nil:
		return nil, err
	case id != nil:
		h.Name, h.Size, h.SHA256, h.Source = id.Name, id.Size, id.SHA256, id.Source
	}
	h.Archive = true
	return h, nil
}

// HeldBy describes an open file.
func HeldBy(f *archive.File) *Held {
	i, ok := f.Info()
	if !ok {
		return &Held{}
	}
	h := &Held{Archive: true, Name: i.ImageName, Size: i.ImageSize, SHA256: i.SHA256}
	if i.Loss != nil {
		h.Source = i.Loss.SourceSHA256
	}
	return h
}

// String describes what is held.
func (h *Held) String() string {
	if !h.Archive {
		return "is no archive"
	}
	if h.SHA256 == "" {
		return fmt.Sprintf("is damaged, so that nobody can tell what it holds (%s)", terminal.WithoutPackages(h.Damage.Error()))
	}
	s := "holds "
	if h.Name != "" { // standard input has none
		s += display.Quoted(h.Name) + ", "
	}
	s += fmt.Sprintf("%d bytes", h.Size)
	if !h.Time.IsZero() {
		s += ", " + h.Time.UTC().Format(time.RFC3339)
	}
	s += ", SHA-256 " + h.SHA256
	if h.Damage != nil {
		s += fmt.Sprintf(", and is damaged (%s)", terminal.WithoutPackages(h.Damage.Error()))
	}
	return s
}

// Covers reports whether nothing is lost if a new archive replaces an old one: both have the
// same image, or the old image is a rounded one of the new.
func (h *Held) Covers(old *Held) bool {
	return h.SHA256 != "" && h.Source == "" && h.SHA256 == old.Source || h.SHA256 != "" && h.SHA256 == old.SHA256
}

// keptHint is the advice for an archive that is not replaced. It must not lead to the loss of
// what that archive holds.
const keptHint = "another name keeps both; cdfz info and cdfz restore -o show what the existing archive holds"

// MayReplace judges a new file that does not hold the image of the old archive. It returns nil only if
// the user gave the options Force and ReplaceOther, and no receipt vouches for the archive.
func (a *IO) MayReplace(path string, old, new *Held) error {
	if a.Vouched != nil {
		if err := a.Vouched(path, old); err != nil {
			return err
		}
	}
	if a.Force && a.ReplaceOther {
		return nil
	}
	return OtherImage(old, new)
}

// OtherImage is the error of an archive that is kept because a new file does not hold its image.
func OtherImage(old, new *Held) error {
	err := fmt.Errorf("the existing archive may be the only copy of another file and is kept: it %s; the new file %s", old, new)
	if old.SHA256 == "" {
		return terminal.Hinted(err, "cdfz repair or cdfz restore --salvage may restore what it holds")
	}
	return terminal.Hinted(err, keptHint)
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
	old, err := Look(ctx, g.path, e.r, e.size)
	if err != nil {
		return fmt.Errorf("looking at the existing file: %w", err)
	}
	if !old.Archive {
		return nil
	}
	old.Time = e.time
	f, err := archive.New(ioat.Live(ctx, fresh), size, &archive.OpenOptions{Cache: -1})
	made := new(Held)
	if err == nil {
		made = HeldBy(f)
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
