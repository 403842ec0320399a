package protect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/internal/atomicfile"
	"github.com/cdfz-format/cdfz/internal/ioat"
)

// What may replace a target is decided here, in two steps. A verb looks at what is there before it works on a file,
// and makes a Decision of that. When the new file is complete, MayReplaceFile and MayReplace compare it with what is
// there then.

// Action is what a verb does with a target.
type Action int

const (
	Write   Action = iota // make it: it is an error if a file is there then
	Replace               // make it, in place of what is there if that may be replaced
	Done                  // nothing: it has what would be written
)

// Decision is what becomes of the target of a file. To refuse it is an error.
type Decision struct {
	Action
	// Kept, if not nil, is the only file that may be replaced, whatever it is: it has another name, too.
	Kept fs.FileInfo
	// Own is set if the target may be the source.
	Own bool
}

// InPlace replaces the source.
var InPlace = Decision{Action: Replace, Own: true}

// Decide returns what becomes of a target that nobody has looked at: -f replaces it.
func (u *Rules) Decide() Decision {
	if u.Force {
		return Decision{Action: Replace}
	}
	return Decision{Action: Write}
}

// Rules are what a run may replace, as its flags say.
type Rules struct {
	Force bool // -f
	// ReplaceOther is --replace-other: -f also replaces an archive of another file, and another netCDF file.
	ReplaceOther bool
	// Overwrites, if not nil, is the only kind of file that -f overwrites, with or without --replace-other.
	Overwrites *Kind
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
	Decision
	// IsInput reports whether the run reads a file.
	IsInput func(fs.FileInfo) bool
	R       io.ReaderAt
	Size    int64     // bytes
	Time    time.Time // of what it was made from, or zero
	// Unproved reports that nobody has compared an archive with what it was made from.
	Unproved bool
	Workers  int // that may decode it; 0 for all processors
}

// MayBegin returns an error if -f will not let an archive replace the file with the name path, as far as that is known
// before the archive is made: the file is an archive, and of another image than the source, as image tells. It calls
// image if it needs to. source and size are those of the source. Images of one size are compared later.
func (u *Rules) MayBegin(ctx context.Context, path string, source fs.FileInfo, size int64, image func() (*Held, error)) error {
	st, err := os.Stat(path)
	if err != nil || !st.Mode().IsRegular() || source != nil && os.SameFile(st, source) {
		return nil // making the target finds any other obstacle
	}
	old, err := LookAt(ctx, path)
	if err != nil || !old.Archive || old.SHA256 != "" && old.Size == size {
		return nil
	}
	old.Time = st.ModTime()
	made, err := image()
	if err != nil {
		return err
	}
	if err := u.mayLose(ctx, path, st, old, made); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// MayReplaceFile is MayReplace for a file with the name path, which st describes.
func (u *Rules) MayReplaceFile(ctx context.Context, path string, st fs.FileInfo, n *New) error {
	switch {
	case !st.Mode().IsRegular(): // a link that leads nowhere
		return nil
	case n.IsInput(st) && !n.Own:
		return atomicfile.ErrSame
	case n.Kept != nil && !os.SameFile(n.Kept, st):
		return archive.ErrChanged
	case n.Kept != nil:
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		if u.ReplaceOther {
			return u.Receipts.Vouched(ctx, path, st, &Held{Archive: true, Damage: atomicfile.Cause(err)})
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
	return u.MayReplace(ctx, &Existing{Path: path, Stat: now, R: f, Size: now.Size(), Time: now.ModTime()}, n)
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
	if old.Volume {
		if same, err := sameBytes(ctx, e, n, old, new(Held)); same || err != nil {
			return err
		}
		return errVolume()
	}
	if !old.Archive && u.Receipts.Given() { // it may be a file that was kept as it is
		if same, err := sameBytes(ctx, e, n, old, new(Held)); same || err != nil {
			return err
		}
		if err := u.Receipts.Vouched(ctx, e.Path, e.Stat, old); err != nil {
			return err
		}
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
	return u.mayLose(ctx, e.Path, e.Stat, old, made)
}

// mayLose judges a new file that does not hold what an old one holds. It returns nil only if the user gave -f and
// --replace-other, and no receipt vouches for the old one. st is that of the old file, nil for an object.
func (u *Rules) mayLose(ctx context.Context, path string, st fs.FileInfo, old, new *Held) error {
	if err := u.Receipts.Vouched(ctx, path, st, old); err != nil {
		return err
	}
	if u.Force && u.ReplaceOther {
		return nil
	}
	return Other(old, new)
}
