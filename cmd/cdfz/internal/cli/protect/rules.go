package protect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/internal/ioat"
)

// Rules are what a run may replace, as its flags say.
type Rules struct {
	Force bool // -f
	// ReplaceOther is --replace-other: -f also replaces an archive of another file, and another netCDF file.
	ReplaceOther bool
	// Overwrites, if not nil, is the only kind of file that -f overwrites, with or without --replace-other.
	Overwrites *Kind
	// KeptAs, if not nil, is a file that has another name, too: it may be replaced.
	KeptAs fs.FileInfo
	// Receipts vouch for archives: no flag replaces these. Not nil.
	Receipts *Receipts
}

// Kind is a kind of file.
type Kind struct {
	Name string // with its article, such as "a catalogue"
	// Check returns an error for a file of another kind.
	Check func(r io.ReaderAt, size int64) error
}

// CheckKind returns an error unless a file is empty or of the kind that Overwrites names.
func (u *Rules) CheckKind(r io.ReaderAt, size int64) error {
	if size == 0 {
		return nil
	}
	if err := u.Overwrites.Check(r, size); err != nil {
		return fmt.Errorf("-f overwrites only %s: %w", u.Overwrites.Name, err)
	}
	return nil
}

// Existing is a file or an object that a new one is to replace.
type Existing struct {
	Path string
	Stat fs.FileInfo // nil for an object
	R    io.ReaderAt
	Size int64 // bytes
	Time time.Time
}

// New is a complete file that is to replace another one.
type New struct {
	R    io.ReaderAt
	Size int64     // bytes
	Time time.Time // of what it was made from, or zero
	// Unproved reports that nobody has compared an archive with what it was made from.
	Unproved bool
	Workers  int // that may decode it; 0 for all processors
}

// MayReplace returns an error if a new file must not replace an existing one: this may be an archive or a netCDF
// file, and the only copy of what it holds.
func (u *Rules) MayReplace(ctx context.Context, e *Existing, n *New) error {
	if u.Overwrites != nil {
		return u.CheckKind(e.R, e.Size)
	}
	old, err := Look(ctx, e.Path, e.R, e.Size)
	if err != nil {
		return fmt.Errorf("looking at the existing file: %w", err)
	}
	if !old.Archive && !old.NetCDF {
		return nil
	}
	old.Time = e.Time
	f, err := archive.New(ctx, ioat.Live(ctx, n.R), n.Size, &archive.OpenOptions{Cache: -1})
	made := new(Held)
	if err == nil {
		made = HeldBy(f)
	}
	made.Time = n.Time
	if old.NetCDF {
		if u.Force && u.ReplaceOther {
			return nil
		}
		if same, err := sameBytes(ctx, e, n, old, made); same || err != nil {
			return err
		}
	}
	if made.Covers(old) {
		if !n.Unproved {
			return nil
		}
		err := f.Image().Copy(ctx, nil, &archive.CopyOptions{Workers: n.Workers, SHA256: true})
		if !errors.Is(err, archive.ErrCorrupt) {
			return err
		}
		made.Damage = err
	}
	return u.MayLose(ctx, e.Path, e.Stat, old, made)
}

// MayLose judges a new file that does not hold what an old one holds. It returns nil only if the user gave -f and
// --replace-other, and no receipt vouches for the old one. st is that of the old file, nil for an object.
func (u *Rules) MayLose(ctx context.Context, path string, st fs.FileInfo, old, new *Held) error {
	if err := u.Receipts.Vouched(ctx, path, st, old); err != nil {
		return err
	}
	if u.Force && u.ReplaceOther {
		return nil
	}
	return Other(old, new)
}
