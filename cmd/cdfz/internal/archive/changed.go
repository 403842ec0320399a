package archive

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/fileio"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/protect"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
	"github.com/cdfz-format/cdfz/internal/atomicfile"
	"github.com/cdfz-format/cdfz/internal/filetime"
	"github.com/cdfz-format/cdfz/internal/nofollow"
	"github.com/cdfz-format/cdfz/internal/s3"
)

// changes is --replace-changed and --remove-replaced: what happens to the archive of a source that has
// changed since.
//
// The old archive may be the only copy of the older state. So it gets a second name first, and only then
// does the new archive take the first one: at every moment both states have a name. Without
// --remove-replaced that is all.
type changes struct {
	replaces bool
	removes  bool
}

// check checks the flags.
func (c *changes) check(v *archiver) error {
	switch {
	case c.removes && !c.replaces:
		return errors.New("--remove-replaced: expected --replace-changed too")
	case !c.replaces:
		return nil
	case v.run.Dest.IsStdout():
		return errors.New("--replace-changed: the archive goes to standard output")
	case s3.IsURL(v.run.Dest.Name):
		return errors.New("--replace-changed: an object cannot be kept under another name")
	case v.run.Rules.Force:
		return errors.New("--replace-changed: contradicts -f")
	case v.existing == existingNever:
		return errors.New("--replace-changed: contradicts --skip-existing=never")
	case c.removes && v.proof.name == "" && len(v.run.Rules.Receipts.Also) == 0 && !v.run.Rules.ReplaceOther:
		err := errors.New("--remove-replaced: expected --receipts or --receipts-also too")
		return terminal.Hinted(err, "receipts tell whether an old archive is all that is left of a source; --replace-other deletes it all the same")
	case c.removes && v.noCheck:
		return errors.New("--remove-replaced: contradicts --no-check")
	}
	return nil
}

// holdsOlder reports whether an archive seems to hold an older state of an input with an image of this
// name.
func (e *found) holdsOlder(in *fileio.Input, image string) bool {
	return in.Stat != nil && e.held.Name == image && e.st != nil && filetime.After(in.Stat.ModTime(), e.held.Time)
}

// replaced is an old archive that has got another name.
type replaced struct {
	path string
	st   fs.FileInfo
}

// keptNames is the number of names that are tried for an old archive.
const keptNames = 1000

// keepOlder keeps the archive of an older state, if there is one, under another name, and lets the new archive replace
// it alone. Without such an archive, it returns nil.
func (v *archiver) keepOlder(w *work, d *decision) (*replaced, error) {
	if d.older == nil {
		return nil, nil
	}
	old, err := v.changes.keep(w, d.older)
	if err != nil {
		return nil, err
	}
	d.Kept = old.st
	return old, nil
}

// keep gives an old archive a second name in its folder, unless an earlier run has done so.
func (c *changes) keep(w *work, e *found) (*replaced, error) {
	dir, err := w.Target(e.path, w.in).Folder()
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	base := filepath.Base(e.path)
	st, err := dir.Lstat(base)
	if err != nil {
		return nil, atomicfile.Cause(err)
	}
	if !os.SameFile(st, e.st) {
		return nil, fmt.Errorf("%s: %w", e.path, nofollow.ErrReplaced)
	}
	for n := 1; n <= keptNames; n++ {
		name := fileio.OlderName(base, e.held.Time, n)
		err := dir.Link(base, name)
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, fmt.Errorf("%s: cannot keep the old archive as %s, a hard link: %w", e.path, name, atomicfile.Cause(err))
		}
		now, statErr := dir.Lstat(name)
		switch same := statErr == nil && os.SameFile(now, st); {
		case same:
			if err := atomicfile.SyncRoot(dir); err != nil && c.removes {
				return nil, fmt.Errorf("flushing the folder of %s: %w", e.path, atomicfile.Cause(err))
			}
			return &replaced{filepath.Join(filepath.Dir(e.path), name), st}, nil
		case err == nil: // another program has replaced the archive meanwhile
			return nil, fmt.Errorf("%s: %w", e.path, nofollow.ErrReplaced)
		}
	}
	return nil, fmt.Errorf("%s: the names from %s to %s for the old archive exist", e.path, fileio.OlderName(base, e.held.Time, 1), fileio.OlderName(base, e.held.Time, keptNames))
}

// undo removes the second name of an old archive that was not replaced. old may be nil.
func (c *changes) undo(w *work, old *replaced) {
	if old == nil {
		return
	}
	dir, err := w.Target(w.rep.Target, w.in).Folder()
	if err != nil {
		return
	}
	defer dir.Close()
	_ = protect.RemoveArchive(dir, filepath.Base(old.path), old.st, func() error { return nofollow.Is(dir, filepath.Base(w.rep.Target), old.st) })
}

// remove deletes an old archive once the new one is proved: it is on disk, and restores the source when it
// is read without its index.
func (c *changes) remove(ctx context.Context, v *archiver, w *work, old *replaced) error {
	kept := func(err error) error { return fmt.Errorf("the old archive was kept as %s: %w", old.path, err) }
	held, err := protect.LookAt(ctx, old.path)
	if err != nil {
		return kept(err)
	}
	if held.Damage != nil {
		return kept(held.Damage)
	}
	dir, err := w.Target(w.rep.Target, w.in).Folder()
	if err != nil {
		return kept(err)
	}
	defer dir.Close()
	f, st, err := nofollow.File(dir, filepath.Base(w.rep.Target), os.O_RDONLY)
	if err != nil {
		return kept(err)
	}
	defer f.Close()
	if err := protect.Settled(f, dir); err != nil {
		return kept(err)
	}
	if err := protect.Durable(v.run.In.Mounts, "the new archive", f, dir); err != nil {
		return kept(err)
	}
	if err := v.restoresSource(ctx, w, f, st.Size()); err != nil {
		return kept(fmt.Errorf("%s: %w", w.rep.Target, err))
	}
	// Last, since other runs may delete sources meanwhile.
	if err := v.run.Rules.Receipts.Vouched(ctx, old.path, old.st, held); err != nil {
		return kept(err)
	}
	if err := protect.RemoveArchive(dir, filepath.Base(old.path), old.st, nil); err != nil {
		return kept(err)
	}
	return nil
}
