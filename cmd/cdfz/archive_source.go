package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/archive/fsck"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/receipts"
	"github.com/cdfz-format/cdfz/internal/atomicfile"
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
	if v.existing == existingNever || !object && (err != nil || !st.Mode().IsRegular() || in.Stat != nil && os.SameFile(st, in.Stat)) {
		return false, nil // making the target finds any other obstacle
	}
	f, err := archive.Open(ctx, path, nil)
	switch {
	case errors.Is(err, archive.ErrNotArchive), !object && errors.Is(err, fs.ErrPermission), object && errors.Is(err, fs.ErrNotExist):
		return false, nil
	case errors.Is(err, archive.ErrCorrupt):
		return false, cli.Hinted(err, "-f makes the archive again")
	case err != nil:
		return false, err
	}
	defer f.Close()
	info, ok := f.Info()
	if !ok {
		return false, nil
	}
	same := info.ImageSize == in.Size
	sameTime := !object && in.Stat != nil && st.ModTime().Equal(in.Stat.ModTime())
	if loss := lossOf(f); loss != nil {
		if len(v.specs.Lossy()) == 0 {
			return false, cli.Hinted(fmt.Errorf("%s exists, and %s", path, loss), "-f makes the archive again")
		}
		info.SHA256, sameTime = loss.SourceSHA256, false
	}
	if same && (v.existing == existingHash || !sameTime) {
		sum, err := in.SHA256(ctx, v.Step(in.Name, in.Size, 0, 1))
		if err != nil {
			return false, err
		}
		same = sum == info.SHA256
	}
	if !same {
		return false, cli.Hinted(fmt.Errorf("%s exists and holds another version of the file", path), "-f makes the archive again")
	}
	rep.SHA256, rep.ArchiveSize, rep.Ratio = info.SHA256, f.Size(), cli.Ratio(in.Size, f.Size())
	if err = v.proof.settleDone(ctx, v, in, rep); err != nil && !errors.Is(err, receipts.ErrKept) {
		return false, err
	}
	if !object {
		atomicfile.RemoveStale(filepath.Dir(path)) // of a run that was to overwrite it
	}
	v.sum.Unchanged++
	v.countDeleted(rep)
	v.PassOver()
	switch reason := "archived before in " + path + rep.deletion(); {
	case v.JSON:
		v.Emit(cli.Skipped{File: rep.File, Reason: reason})
	case v.Verbose || !v.files.Folders || rep.Deleted:
		v.Report("%s: %s", in.Name, reason)
	}
	return true, err
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

// open opens the receipts. The caller must call done.
func (p *proof) open() (done func(), err error) {
	if p.name == "" {
		return func() {}, nil
	}
	if p.file, err = receipts.Open(p.name); err != nil {
		return nil, err
	}
	return func() { p.file.Close() }, nil
}

// settle writes the receipt of a new archive, and deletes the source.
func (p *proof) settle(ctx context.Context, v *archiver, in *cli.Input, rep *archiveReport) error {
	if p.file == nil {
		return nil
	}
	if rep.Loss != nil {
		return fmt.Errorf("%w: the archive does not restore its bytes", receipts.ErrKept)
	}
	f, err := os.Open(rep.Target)
	if err != nil {
		return err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return err
	}
	if p.deletes {
		if err := receipts.Settled(f, filepath.Dir(rep.Target)); err != nil {
			return err
		}
	}
	w, err := fsck.Walk(ctx, f, st.Size(), &fsck.WalkOptions{Workers: v.Workers, Memory: v.BlockMemory()})
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
	if err := p.file.Add(rec); err != nil {
		return err
	}
	if !p.deletes {
		return nil
	}
	if err := receipts.Deletable(in.Name, in.File, in.Stat); err != nil {
		return err
	}
	if err := os.Remove(in.Name); err != nil {
		return fmt.Errorf("%w: %w", receipts.ErrKept, err)
	}
	rep.Deleted = true
	return nil
}

// settleDone does the same for an archive of an earlier run, which may have been stopped.
// The source is read for its SHA-256 before it is deleted: until now, its time may be all
// that was compared. Without --delete-source, archives with a receipt need no other.
func (p *proof) settleDone(ctx context.Context, v *archiver, in *cli.Input, rep *archiveReport) error {
	if p.file == nil {
		return nil
	}
	if !p.deletes {
		path, err := filepath.Abs(rep.Target)
		if err != nil || p.file.Has(path, rep.SHA256) {
			return err
		}
	}
	sum, err := in.SHA256(ctx, v.Step(in.Name, in.Size, 0, 1))
	if err != nil {
		return err
	}
	if sum != rep.SHA256 {
		return cli.Hinted(fmt.Errorf("%s exists and holds another version of the file", rep.Target), "-f makes the archive again")
	}
	return p.settle(ctx, v, in, rep)
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
	if r.Deleted {
		return "; source deleted"
	}
	return ""
}

func (v *archiver) countDeleted(rep *archiveReport) {
	if rep.Deleted {
		v.sum.Deleted++
	}
}
