package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/archive/verify"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/receipts"
	"github.com/cdfz-format/cdfz/internal/atomicfile"
	"github.com/cdfz-format/cdfz/internal/nofollow"
	"github.com/cdfz-format/cdfz/remote"
	"github.com/cdfz-format/cdfz/remote/s3"
)

// existingMode is the way archive detects that a file is already archived.
type existingMode string

const (
	existingMtime existingMode = "mtime" // by size and modification time, else like hash
	existingHash  existingMode = "hash"  // by size and SHA-256
	existingNever existingMode = "never" // an existing target is an error
)

// isDone reports whether the target exists and is an archive of the input, and reports
// such a file. It is an error if the target is an archive of something else.
func (v *archiver) isDone(ctx context.Context, in *cli.Input, rep *archiveReport) (bool, error) {
	path := rep.Target
	st, err := os.Stat(path)
	object := s3.IsURL(path)
	if v.existing == existingNever && !v.Taken(path) || !object && (err != nil || !st.Mode().IsRegular() || in.Stat != nil && os.SameFile(st, in.Stat)) {
		return false, nil // making the target finds any other obstacle
	}
	old, err := v.Open(ctx, path)
	switch {
	case errors.Is(err, fs.ErrNotExist), !object && errors.Is(err, fs.ErrPermission):
		return false, nil
	case err != nil:
		return false, err
	}
	defer old.Close()
	small := old.Size <= smallArchive
	if small {
		b := make([]byte, old.Size)
		if _, err := old.R.ReadAt(b, 0); err != nil && !errors.Is(err, io.EOF) {
			return false, err
		}
		old.Replace(bytes.NewReader(b), old.Size, nil)
	}
	f, err := archive.New(old.R, old.Size, &archive.OpenOptions{Cache: -1})
	switch {
	case errors.Is(err, archive.ErrNotArchive):
		return false, nil
	case errors.Is(err, archive.ErrCorrupt) && !object:
		return false, v.damaged(ctx, in, path, st, fmt.Errorf("%s: %w", path, err))
	case err != nil:
		return false, err
	}
	info, ok := f.Info()
	if !ok {
		return false, nil
	}
	e := &found{path: path, held: cli.HeldBy(f), sameTime: !object && in.Stat != nil && st.ModTime().Equal(in.Stat.ModTime())}
	if !object {
		e.held.Time = st.ModTime()
	}
	same, sameTime := info.ImageSize == in.Size, e.sameTime
	loss := lossOf(f)
	if loss != nil {
		info.SHA256, sameTime = loss.SourceSHA256, false
	}
	if same && (v.existing == existingHash || !sameTime) {
		sum, err := v.sumOf(ctx, in)
		if err != nil {
			return false, err
		}
		same = sum == info.SHA256
	}
	if !same {
		return false, v.differs(ctx, in, e)
	}
	if loss != nil && len(v.specs.Lossy()) == 0 {
		return false, cli.Hinted(fmt.Errorf("%s exists, and %s", path, loss), againHint)
	}
	if err := v.intact(ctx, old, f, small); err != nil {
		return false, err
	}
	rep.SHA256, rep.ArchiveSize, rep.Ratio = info.SHA256, f.Size(), cli.Ratio(in.Size, f.Size())
	if err = v.proof.settleDone(ctx, v, in, e, rep); err != nil && !errors.Is(err, receipts.ErrKept) {
		return false, err
	}
	if !object {
		atomicfile.RemoveStale(filepath.Dir(path)) // of a run that was to overwrite it
	}
	v.countDeleted(rep)
	v.passOver(in.Name, rep.File, "archived before in "+path+rep.deletion(), rep.Deleted)
	return true, err
}

// smallArchive is the length in bytes up to which existing archives are read whole. Reading less
// would take as long.
const smallArchive = 1 << 20

// intact returns an error if an existing archive of the source is damaged. --skip-existing=hash
// decodes it. Otherwise its structures are compared with their checksums, and if it is small, all
// blocks, too.
func (v *archiver) intact(ctx context.Context, old *cli.Input, f *archive.File, small bool) error {
	var err error
	if v.existing == existingHash {
		var rep *verify.Report
		rep, err = verify.Verify(ctx, old.R, old.Size, &verify.Options{Workers: v.Workers, Memory: v.BlockMemory(), SHA256: true})
		if err == nil && len(rep.Damage) > 0 {
			err = fmt.Errorf("%s: %w", strings.TrimSuffix(rep.Damage[0].Text, ": "+archive.ErrCorrupt.Error()), archive.ErrCorrupt)
		}
	} else {
		err = f.CheckStored(ctx, small)
	}
	if errors.Is(err, archive.ErrCorrupt) {
		err = cli.Hinted(fmt.Errorf("%s exists, but is damaged: %w", old.Name, err), againHint+", cdfz verify lists all damage")
	}
	return err
}

// found is an archive that has the name of a target.
type found struct {
	path     string
	held     *cli.Held
	sameTime bool // as the source
}

// againHint is the advice for an archive of the source that is to be made again. With -f, that
// fails for an archive of another file.
const againHint = "-f makes the archive again"

func (v *archiver) sumOf(ctx context.Context, in *cli.Input) (string, error) {
	return in.SHA256(ctx, v.Step(in.Name, in.Size, 0, 1))
}

// sourceOf describes the image of an input, as an archive of it would be described.
func (v *archiver) sourceOf(ctx context.Context, in *cli.Input) (*cli.Held, error) {
	h := &cli.Held{Archive: true, Name: filepath.Base(in.Name), Size: in.Size}
	if in.Stat != nil {
		h.Time = in.Stat.ModTime()
	}
	var err error
	h.SHA256, err = v.sumOf(ctx, in)
	return h, err
}

// differs is the error of an archive that does not hold the input.
func (v *archiver) differs(ctx context.Context, in *cli.Input, e *found) error {
	src, err := v.sourceOf(ctx, in)
	if err != nil {
		return err
	}
	if src.Size == e.held.Size && e.sameTime {
		err := fmt.Errorf("%s holds a file of the same size and time with SHA-256 %s, but the source has SHA-256 %s now: if nobody has changed the source, it is damaged, and the archive may be the good copy", e.path, e.held.SHA256, src.SHA256)
		return cli.Hinted(err, "cdfz verify checks the archive, cdfz restore -o OUT restores its file for comparing")
	}
	return fmt.Errorf("%s: %w", e.path, cli.OtherImage(e.held, src))
}

// damaged is the error of an existing archive that does not open.
func (v *archiver) damaged(ctx context.Context, in *cli.Input, path string, st fs.FileInfo, cause error) error {
	old, err := v.look(ctx, path)
	if err != nil || !old.Archive {
		return cause
	}
	src, err := v.sourceOf(ctx, in)
	if err != nil {
		return err
	}
	if src.Covers(old) {
		return cli.Hinted(cause, againHint)
	}
	old.Time = st.ModTime()
	return fmt.Errorf("%s: %w: %w", path, cli.OtherImage(old, src), archive.ErrCorrupt)
}

// look returns what an existing file holds.
func (v *archiver) look(ctx context.Context, path string) (*cli.Held, error) {
	e, err := cli.OpenFile(path, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer e.Close()
	return cli.Look(ctx, path, e.R, e.Size)
}

// mayMake returns an error if -f must not replace an existing file by an archive of the input.
// Images of the same size are compared when the archive is complete.
func (v *archiver) mayMake(ctx context.Context, in *cli.Input, path string) error {
	st, err := os.Stat(path)
	if s3.IsURL(path) || err != nil || !st.Mode().IsRegular() || in.Stat != nil && os.SameFile(st, in.Stat) {
		return nil // making the target finds any other obstacle
	}
	old, err := v.look(ctx, path)
	if err != nil || !old.Archive || old.SHA256 != "" && old.Size == in.Size {
		return nil
	}
	old.Time = st.ModTime()
	src, err := v.sourceOf(ctx, in)
	if err != nil {
		return err
	}
	if err := v.MayReplace(path, old, src); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// readHeader reads the netCDF header of an input.
func readHeader(in *cli.Input) (*cdf3.Header, error) { return cdf3.Read(in.R, in.Size) }

// truncated describes the values that lie beyond the end of a file. It returns "" if
// there are none.
func truncated(h *cdf3.Header, size int64) string {
	missing := int64(0)
	var names []string
	for i := range h.Vars {
		end, ok := endOf(h, &h.Vars[i])
		if ok && end <= size {
			continue
		}
		missing = max(missing, end-size)
		names = append(names, cli.Quoted(h.Vars[i].Name))
	}
	if len(names) == 0 {
		return ""
	}
	const most = 5
	if n := len(names) - most; n > 0 {
		names = append(names[:most:most], fmt.Sprintf("and %d more", n))
	}
	return fmt.Sprintf("the file is truncated: its last %s are missing, with values of %s", cli.Size(missing), strings.Join(names, ", "))
}

// endOf returns the end of a variable's values. ok is false if they end beyond any
// file.
func endOf(h *cdf3.Header, v *cdf3.Var) (end int64, ok bool) {
	if v.Len == 0 {
		return 0, true
	}
	end = v.Begin
	if v.Record && h.NumRecs > 1 {
		if h.RecSize > 0 && h.NumRecs-1 > (math.MaxInt64-end)/h.RecSize {
			return math.MaxInt64, false
		}
		end += (h.NumRecs - 1) * h.RecSize
	}
	if v.RecLen > math.MaxInt64-end {
		return math.MaxInt64, false
	}
	return end + v.RecLen, true
}

// proof writes receipts and deletes sources.
type proof struct {
	name    string // of the receipts, "" for none
	deletes bool
	file    *receipts.File
}

// check checks the flags.
func (p *proof) check(v *archiver, args []string) error {
	switch {
	case p.deletes && p.name == "":
		return cli.Hinted(errors.New("--delete-source: expected --receipts FILE too"), "the receipts prove later what was deleted")
	case p.name == "":
		return nil
	case p.name == cli.StdoutName:
		return errors.New("--receipts: expected the name of a file, found -")
	case v.Dest == cli.StdoutName:
		return errors.New("--receipts: the archive goes to standard output")
	case s3.IsURL(v.Dest):
		return errors.New("--receipts: the archive goes to an object store")
	case len(v.specs.Lossy()) > 0:
		return errors.New("--receipts: contradicts --lossy, whose archives do not restore the source")
	case v.noCheck && p.deletes:
		return errors.New("--delete-source: contradicts --no-check")
	}
	for _, name := range args {
		if p.deletes && (name == cli.StdinName || remote.IsURL(name)) {
			return fmt.Errorf("--delete-source: %s is not a local file", cli.ShowName(name))
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
func (p *proof) settle(ctx context.Context, v *archiver, in *cli.Input, rep *archiveReport) error {
	if p.file == nil {
		return nil
	}
	if rep.Loss != nil {
		return fmt.Errorf("%w: the archive does not restore its bytes", receipts.ErrKept)
	}
	f, st, err := p.openTarget(v, in, rep.Target)
	if err != nil {
		return err
	}
	defer f.Close()
	w, err := verify.Walk(ctx, f, st.Size(), &verify.WalkOptions{Workers: v.Workers, Memory: v.BlockMemory()})
	if errors.Is(err, archive.ErrCorrupt) {
		return fmt.Errorf("%s does not restore from its local headers: %w", rep.Target, err)
	}
	if err != nil {
		return err
	}
	if w.SHA256 != rep.SHA256 || w.ImageSize != in.Size {
		return fmt.Errorf("%s restores %d bytes with SHA-256 %s, expected %d with %s", rep.Target, w.ImageSize, w.SHA256, in.Size, rep.SHA256)
	}
	rec := &receipts.Receipt{
		Size: in.Size, ArchiveSize: st.Size(), SHA256: w.SHA256, Ratio: rep.Ratio, Version: archive.Version, Compressed: rep.Compressed,
	}
	if rec.Source, err = absolute(rep.File); err != nil {
		return err
	}
	if rec.Archive, err = filepath.Abs(rep.Target); err != nil {
		return err
	}
	if in.Stat != nil {
		rec.Modified = in.Stat.ModTime().UTC()
	}
	if err := p.inPlace(rec.Archive, st); err != nil {
		return err
	}
	if err := p.file.Add(rec); err != nil {
		return err
	}
	if !p.deletes {
		return nil
	}
	if err := p.inPlace(rec.Archive, st); err != nil {
		return err
	}
	dir, base, done, err := in.Folder()
	if err != nil {
		return fmt.Errorf("%w: %w", receipts.ErrKept, err)
	}
	defer done()
	err = receipts.Delete(dir, base, in.File, in.Stat)
	rep.Deleted = err == nil
	if errors.Is(err, fs.ErrNotExist) {
		rep.gone = true // another run has archived and deleted it
		return nil
	}
	return err
}

// openTarget opens an archive. If the source is to be deleted, the archive is flushed, and it must
// be a file in the folder where archives of this run are made.
func (p *proof) openTarget(v *archiver, in *cli.Input, path string) (*os.File, fs.FileInfo, error) {
	if !p.deletes {
		t, err := cli.OpenFile(path, os.O_RDONLY)
		if err != nil {
			return nil, nil, err
		}
		return t.File, t.Stat, nil
	}
	dir, err := v.TargetFolder(path, in)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", receipts.ErrKept, err)
	}
	defer dir.Close()
	f, st, err := nofollow.File(dir, filepath.Base(path), os.O_RDONLY)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", receipts.ErrKept, err)
	}
	if err := receipts.Settled(f, dir); err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, st, nil
}

// inPlace returns an error if the path of an archive does not lead to the file that was proved.
func (p *proof) inPlace(path string, st fs.FileInfo) error {
	now, err := os.Stat(path)
	if err == nil && os.SameFile(now, st) {
		return nil
	}
	err = fmt.Errorf("the archive is no longer %s", path)
	if p.deletes {
		err = fmt.Errorf("%w: %w", receipts.ErrKept, err)
	}
	return err
}

// settleDone does the same for an archive of an earlier run, which may have been stopped.
// The source is read for its SHA-256 before it is deleted: until now, its time may be all
// that was compared. Without --delete-source, archives with a receipt need no other.
func (p *proof) settleDone(ctx context.Context, v *archiver, in *cli.Input, e *found, rep *archiveReport) error {
	if p.file == nil {
		return nil
	}
	if !p.deletes {
		path, err := filepath.Abs(rep.Target)
		if err != nil || p.file.Has(path, rep.SHA256) {
			return err
		}
	}
	sum, err := v.sumOf(ctx, in)
	if err != nil {
		return err
	}
	if sum != rep.SHA256 {
		return v.differs(ctx, in, e)
	}
	return p.settle(ctx, v, in, rep)
}

// vouched returns an error if a receipt vouches for an archive whose source is gone: the archive is
// all that is left of it.
func (p *proof) vouched(ctx context.Context, v *archiver) func(path string, old *cli.Held) error {
	return func(path string, old *cli.Held) error {
		if p.file == nil {
			return nil
		}
		list, err := p.of(v.App, path)
		if err != nil {
			return err
		}
		for _, rec := range list {
			if old.SHA256 != "" && old.SHA256 != rec.SHA256 {
				continue
			}
			there, err := rec.SourceExists(ctx)
			if err != nil {
				return err
			}
			if !there {
				err := fmt.Errorf("the existing archive is kept: it %s, as a receipt of %s states, and its source %s is gone or has changed", old, p.name, cli.ShowName(rec.Source))
				return cli.Hinted(err, "another name keeps both")
			}
		}
		return nil
	}
}

// absolute returns a FILE argument as it is in receipts.
func absolute(name string) (string, error) {
	if name == cli.StdinName || remote.IsURL(name) {
		return name, nil
	}
	return filepath.Abs(name)
}

// deletion is the end of a report.
func (r *archiveReport) deletion() string {
	switch {
	case r.Deleted:
		return "; source deleted"
	case r.gone:
		return "; its source is gone"
	}
	return ""
}

func (v *archiver) countDeleted(rep *archiveReport) {
	if rep.Deleted {
		v.sum.Deleted++
	}
}
