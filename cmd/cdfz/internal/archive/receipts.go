package archive

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/fileio"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/protect"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/receiptfile"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
	"github.com/cdfz-format/cdfz/internal/filetime"
	"github.com/cdfz-format/cdfz/internal/nofollow"
	"github.com/cdfz-format/cdfz/internal/s3"
	"github.com/cdfz-format/cdfz/remote"
)

// proof writes receipts and deletes sources.
type proof struct {
	name    string // of the receipts, "" for none
	deletes bool
	copies  copies
	file    *receiptfile.File
	weak    error // the file may get lost
}

// check checks the flags.
func (p *proof) check(v *archiver, args []string) error {
	if err := p.copies.check(p.deletes); err != nil {
		return err
	}
	switch {
	case p.deletes && p.name == "":
		return terminal.Hinted(errors.New("--delete-source: expected --receipts FILE too"), "the receipts prove later what was deleted")
	case p.name == "":
		return nil
	case p.name == terminal.StdoutName:
		return errors.New("--receipts: expected the name of a file, found -")
	case v.run.Dest.IsStdout():
		return errors.New("--receipts: the archive goes to standard output")
	case remote.IsURL(p.name):
		return errors.New("--receipts: expected the name of a file, found a URL")
	case s3.IsURL(v.run.Dest.Name) && p.deletes:
		return errors.New("--delete-source: the archive goes to an object store, expected a local one")
	case len(v.specs.Lossy()) > 0:
		return errors.New("--receipts: contradicts --lossy, whose archives do not restore the source")
	case v.run.Select.Balance && p.deletes:
		return terminal.Hinted(errors.New("--delete-source: contradicts --balance: shards that begin later would be divided from other files"), "--shard without --balance divides by name alone")
	case v.noCheck && p.deletes:
		return errors.New("--delete-source: contradicts --no-check")
	}
	for _, name := range args {
		if p.deletes && (name == terminal.StdinName || remote.IsURL(name)) {
			return fmt.Errorf("--delete-source: %s is not a local file", terminal.ShowName(name))
		}
	}
	return nil
}

// close ends the run in the receipts.
func (p *proof) close() error {
	if p.file == nil {
		return nil
	}
	return p.file.Close()
}

// settle writes the receipt of a new archive, and deletes the source.
func (p *proof) settle(ctx context.Context, v *archiver, w *work) error {
	in, rep := w.in, w.rep
	if p.file == nil {
		return nil
	}
	if p.deletes && in.File == nil {
		return fmt.Errorf("%w: it is not a local file", protect.ErrKept)
	}
	if rep.Loss != nil {
		return fmt.Errorf("%w: the archive does not restore its bytes", protect.ErrKept)
	}
	t, err := p.openTarget(ctx, v, w)
	if err != nil {
		return err
	}
	defer t.Close()
	if err := v.restoresSource(ctx, w, t.R, t.Size); err != nil {
		if errors.Is(err, archive.ErrCorrupt) {
			return fmt.Errorf("%s does not restore from its local headers: %w", rep.Target, err)
		}
		return fmt.Errorf("%s: %w", rep.Target, err)
	}
	rec := &receiptfile.Receipt{
		Size: in.Size, ArchiveSize: t.Size, SHA256: rep.SHA256, Ratio: rep.Ratio, Version: archive.Version, Compressed: rep.Compressed,
		Below: rep.below,
	}
	if w.Plain {
		rec.Kind = receiptfile.Plain
	}
	if rec.Source, err = absolute(rep.File); err != nil {
		return err
	}
	if rec.Archive, err = absolute(rep.Target); err != nil {
		return err
	}
	if rep.Replaced != "" {
		rec.Replaced = filepath.Base(rep.Replaced)
	}
	if in.Stat != nil {
		rec.Modified = filetime.Time{Time: in.Stat.ModTime()}
	}
	if err := p.inPlace(t); err != nil {
		return err
	}
	var missing error
	if p.deletes {
		if missing = p.keeps(v, in, t); missing == nil {
			missing = v.whole.covers(ctx, v, w)
		}
	}
	if p.deletes && missing == nil {
		if rec.Copies, missing = p.copies.prove(ctx, v, w, t); missing != nil && ctx.Err() != nil {
			return ctx.Err()
		}
	}
	has := false
	if missing != nil {
		if has, err = p.file.Has(ctx, rec.Archive, rec.SHA256); err != nil {
			return err
		}
	}
	if !has {
		if err := p.file.Add(ctx, rec); err != nil {
			return err
		}
	}
	if v.changes.removes || v.run.Rules.ReplaceOther {
		v.run.Rules.Receipts.Proved(rec.Archive)
	}
	if missing != nil {
		return fmt.Errorf("%w: %w", protect.ErrKept, missing)
	}
	if !p.deletes {
		return nil
	}
	if err := p.inPlace(t); err != nil {
		return err
	}
	dir, base, done, err := in.Folder()
	if err != nil {
		return fmt.Errorf("%w: %w", protect.ErrKept, err)
	}
	defer done()
	err = protect.Delete(dir, base, in.File, in.Stat)
	rep.Deleted = err == nil
	if errors.Is(err, fs.ErrNotExist) {
		rep.gone = true // another run has archived and deleted it
		return nil
	}
	return err
}

// keeps returns an error unless what stays when a source is deleted is stored where it lasts, and the source
// is a file of its own.
func (p *proof) keeps(v *archiver, in, t *fileio.Input) error {
	source, err := v.run.In.Stored(in)
	if err != nil {
		return err
	}
	if source.Shown() {
		return errors.New("cdfz shows it, from an archive")
	}
	if t.IsMember() {
		if err := v.run.In.ProveVolume(context.Background(), t); err != nil {
			return err
		}
		return cmp.Or(v.packs.unprotected(), p.weak)
	}
	dir, _, done, err := t.Folder()
	if err != nil {
		return err
	}
	defer done()
	if err := protect.Durable(v.run.In.Mounts, "the archive", t.File, dir); err != nil {
		return err
	}
	return p.weak
}

// openTarget opens an archive. If the source is to be deleted, the archive is flushed, and it must
// be a file in the folder where archives of this run are made.
func (p *proof) openTarget(ctx context.Context, v *archiver, w *work) (*fileio.Input, error) {
	path := w.rep.Target
	if v.packs.on() {
		t, err := v.run.In.Open(ctx, path)
		if err == nil && !t.IsMember() {
			err = fmt.Errorf("%s: %w", terminal.ShowName(path), fs.ErrNotExist)
			t.Close()
		}
		if err == nil && p.deletes {
			if err = v.run.In.ProveVolume(ctx, t); err != nil {
				t.Close()
				err = fmt.Errorf("%w: %w", protect.ErrKept, err)
			}
		}
		return t, err
	}
	if !p.deletes {
		if s3.IsURL(path) {
			return v.run.In.Open(ctx, path)
		}
		return fileio.OpenRegular(path, os.O_RDONLY)
	}
	dir, err := w.Target(path, w.in).Folder()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", protect.ErrKept, err)
	}
	defer dir.Close()
	f, st, err := nofollow.File(dir, filepath.Base(path), os.O_RDONLY)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", protect.ErrKept, err)
	}
	if err := protect.Settled(f, dir); err != nil {
		f.Close()
		return nil, fmt.Errorf("%w: %w", protect.ErrKept, err)
	}
	return fileio.NewInput(path, f, st), nil
}

// inPlace returns an error if the path of an archive does not lead to the file that was proved. An
// object that is replaced while it is read is an error of reading.
func (p *proof) inPlace(t *fileio.Input) error {
	err := t.InPlace()
	if err != nil && p.deletes {
		err = fmt.Errorf("%w: %w", protect.ErrKept, err)
	}
	return err
}

// settleDone does the same for an archive of an earlier run, which may have been stopped.
// The source is read for its SHA-256 before it is deleted: until now, its time may be all
// that was compared. Without --delete-source, archives with a receipt need no other.
func (p *proof) settleDone(ctx context.Context, v *archiver, w *work, e *found) error {
	rep := w.rep
	if p.file == nil {
		return nil
	}
	if !p.deletes {
		path, err := absolute(rep.Target)
		if err != nil {
			return err
		}
		if has, err := p.file.Has(ctx, path, rep.SHA256); has || err != nil {
			return err
		}
	}
	sum, err := v.sumOf(ctx, w)
	if err != nil {
		return err
	}
	if sum != rep.SHA256 {
		return v.differs(ctx, w, e)
	}
	return p.settle(ctx, v, w)
}

// absolute returns a FILE argument as it is in receipts.
func absolute(name string) (string, error) {
	if name == terminal.StdinName || remote.IsURL(name) {
		return name, nil
	}
	return filepath.Abs(name)
}

// open opens the receipts, after another run that adds to them has ended. The caller must call
// close.
func (p *proof) open(ctx context.Context, v *archiver) error {
	if p.name == "" {
		return nil
	}
	return v.run.Await(ctx, p.name, func() (err error) {
		if p.file, err = receiptfile.Open(p.name); err != nil {
			return err
		}
		v.run.Rules.Receipts.Use(p.file)
		if !p.deletes {
			return nil
		}
		f, err := os.Open(p.name)
		if err != nil {
			return err
		}
		defer f.Close()
		p.weak = protect.Durable(v.run.In.Mounts, "the file of receipts", f, nil)
		return nil
	})
}

// of returns the receipts of an archive, the oldest first, by its path and by that without
// symbolic links.
func (p *proof) of(ctx context.Context, run *cli.Run, path string) ([]receiptfile.Found, error) {
	abs, err := absolute(path)
	if err != nil {
		return nil, err
	}
	list, err := p.file.Index().OfArchive(ctx, abs)
	if place := run.Targets.Place(path); err == nil && !s3.IsURL(path) && place != abs {
		var more []receiptfile.Found
		more, err = p.file.Index().OfArchive(ctx, place)
		list = append(list, more...)
	}
	return list, err
}
