package archive

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/archive/volume"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/display"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/fileio"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/protect"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/receiptfile"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/treefile"
	"github.com/cdfz-format/cdfz/internal/atomicfile"
	"github.com/cdfz-format/cdfz/internal/filetime"
	"github.com/cdfz-format/cdfz/internal/nofollow"
	"github.com/cdfz-format/cdfz/internal/runlog"
	"github.com/cdfz-format/cdfz/internal/s3"
	"github.com/cdfz-format/cdfz/internal/urls"
	"github.com/cdfz-format/cdfz/internal/xattr"
)

// plainReport is the JSON of a file that is kept as it is, or of a further name of a file.
type plainReport struct {
	File    string  `json:"file"`
	Target  string  `json:"target"`
	Kind    string  `json:"kind"` // plain or hardlink
	Size    int64   `json:"size"`
	SHA256  string  `json:"sha256"`
	Checked bool    `json:"checked"`
	Deleted bool    `json:"source_deleted,omitempty"`
	Seconds float64 `json:"seconds"`
}

// plain keeps a file as it is. Its input is open.
func (v *archiver) plain(ctx context.Context, w *work) error {
	path := urls.Below(v.run.Dest.Name, w.At)
	w.Plain = true
	w.rep.Target, w.rep.Size, w.rep.ArchiveSize, w.rep.Ratio, w.rep.below = path, w.in.Size, w.in.Size, 1, w.At
	w.Entry.Target, w.Entry.Size, w.Entry.ArchiveSize, w.Entry.Ratio = path, w.in.Size, w.in.Size, 1
	d, err := v.decidePlain(ctx, w)
	if err != nil {
		return err
	}
	if d.Action == protect.Done {
		w.Entry.SHA256 = w.rep.SHA256
		err := v.proof.settlePlain(ctx, v, w)
		if err != nil && !errors.Is(err, protect.ErrKept) {
			return err
		}
		w.countDeleted()
		v.passOver(w, w.in.Name, "kept before in "+w.rep.Target+w.rep.deletion(), w.rep.Deleted)
		if err != nil {
			w.Entry.Outcome = runlog.Kept
		}
		return err
	}
	if v.dry {
		return nil
	}
	if g := v.packs.again[w.Rel]; g != nil && g.first != w.Rel {
		v.packs.link(ctx, v, w, g)
		return nil
	}
	if v.packs.on() {
		return v.packs.keep(ctx, v, w)
	}
	if err := v.copyPlain(ctx, w, d); err != nil {
		return err
	}
	err = v.proof.settle(ctx, v, w)
	if errors.Is(err, protect.ErrKept) {
		w.Entry.Outcome = runlog.Kept
	}
	if err == nil || errors.Is(err, protect.ErrKept) {
		v.donePlain(w, "plain")
	}
	return err
}

// decidePlain returns what becomes of the target of a plain file. It sets the SHA-256 in the report if the target is done.
func (v *archiver) decidePlain(ctx context.Context, w *work) (d protect.Decision, err error) {
	d = protect.Decision{Action: protect.Write}
	old, err := v.openPlain(ctx, w)
	if old == nil || err != nil {
		return d, err
	}
	defer old.Close()
	if old.Size == w.in.Size {
		e := v.whole.tree.Find(filepath.ToSlash(w.Rel))
		listed := e != nil && e.SHA256 != "" && e.Kind == treefile.Plain && e.Size == w.in.Size && e.Modified.Equal(w.in.Stat.ModTime())
		sameTime := s3.IsURL(w.rep.Target) || old.Stat != nil && old.Stat.ModTime().Equal(w.in.Stat.ModTime())
		if v.existing == existingMtime && listed && sameTime {
			w.rep.SHA256, d.Action = e.SHA256, protect.Done
			return d, nil
		}
		if w.rep.SHA256, err = v.sumOf(ctx, w); err != nil {
			return d, err
		}
		has, err := protect.SHA256(ctx, old.R, old.Size, nil)
		if err != nil {
			return d, err
		}
		switch {
		case has == w.rep.SHA256 && v.existing == existingNever:
			return d, fmt.Errorf("%s: %w", terminal.ShowName(w.rep.Target), atomicfile.ErrExists)
		case has == w.rep.SHA256:
			d.Action = protect.Done
			return d, nil
		}
	}
	w.rep.SHA256 = ""
	path := w.rep.Target
	switch {
	case v.packs.on(): // a later volume has the new state
		return d, nil
	case old.Stat == nil:
	case v.changes.replaces && filetime.After(w.in.Stat.ModTime(), old.Stat.ModTime()):
		if v.dry {
			return protect.Decision{Action: protect.Replace, Kept: old.Stat}, nil
		}
		kept, err := v.changes.keep(w, &found{path: path, st: old.Stat, held: &protect.Held{Time: old.Stat.ModTime()}})
		if err != nil {
			return d, err
		}
		w.rep.Replaced = kept.path
		return protect.Decision{Action: protect.Replace, Kept: old.Stat}, nil
	case v.run.Rules.Force && v.run.Rules.ReplaceOther:
		sum, err := protect.SHA256(ctx, old.R, old.Size, nil)
		if err != nil {
			return d, err
		}
		held := &protect.Held{Size: old.Size, SHA256: sum}
		if err := v.run.Rules.Receipts.Vouched(ctx, path, old.Stat, held); err != nil {
			return d, err
		}
		return protect.Decision{Action: protect.Replace, Kept: old.Stat}, nil
	}
	err = fmt.Errorf("%s: the existing file has other bytes, and may be the only copy of them: %w", terminal.ShowName(path), atomicfile.ErrExists)
	return d, terminal.Hinted(err, "if the file was changed, --replace-changed keeps the older one under another name")
}

// openPlain opens the target of a plain file. It returns nil if there is none, or if making it finds any other obstacle.
func (v *archiver) openPlain(ctx context.Context, w *work) (*fileio.Input, error) {
	if v.packs.on() {
		old, _, err := v.packs.find(ctx, v, w)
		return old, err
	}
	path := w.rep.Target
	if !s3.IsURL(path) {
		st, err := os.Lstat(path)
		if err != nil || !st.Mode().IsRegular() || os.SameFile(st, w.in.Stat) {
			return nil, nil
		}
		return fileio.OpenRegular(path, os.O_RDONLY)
	}
	old, err := v.run.In.OpenObject(ctx, path)
	return old, fileio.OfTarget(err)
}

// copyPlain copies a plain file to its target, reads that back, and sets the report.
func (v *archiver) copyPlain(ctx context.Context, w *work, d protect.Decision) error {
	start := time.Now()
	t := w.Target(w.rep.Target, w.in)
	t.Decision, t.Size, t.Sparse, t.Proved = d, w.in.Size, atomicfile.SparseAuto, true
	t.Xattrs, _ = xattr.Of(w.in.File)
	dst, err := t.Sink(ctx)
	if err != nil {
		return err
	}
	defer dst.Abort()
	step := w.Term.Step(w.in.Name, w.in.Size, 0, 2)
	if dst.Clone(w.in.File) {
		w.rep.SHA256, err = v.sumOf(ctx, w)
	} else {
		w.rep.SHA256, err = fileio.CopySum(ctx, dst, w.in.R, w.in.Size, step)
	}
	if err == nil && !v.noCheck {
		var got string
		got, err = protect.SHA256(ctx, dst.File(), w.in.Size, w.Term.Step(w.in.Name, w.in.Size, 1, 2))
		if err == nil && got != w.rep.SHA256 {
			err = fmt.Errorf("%s: expected SHA-256 %s, read back %s", w.rep.Target, w.rep.SHA256, got)
		}
		w.rep.Checked = true
	}
	if err == nil {
		err = w.in.Changed()
	}
	if err == nil {
		err = dst.Commit(ctx)
	}
	if err != nil {
		w.rep.SHA256 = ""
		return err
	}
	w.rep.Seconds = display.Round(time.Since(start).Seconds(), 6)
	return nil
}

// donePlain counts and reports a plain file, or a further name of a file.
func (v *archiver) donePlain(w *work, kind string) {
	rep := w.rep
	w.Entry.SHA256 = rep.SHA256
	w.sum.Plain++
	w.countDeleted()
	if kind == "plain" {
		w.sum.PlainSize += rep.Size
	}
	switch {
	case w.Term.JSON:
		w.Term.Emit(plainReport{rep.File, rep.Target, kind, rep.Size, rep.SHA256, rep.Checked, rep.Deleted, rep.Seconds})
	case rep.Replaced != "":
		w.Term.Report("%s: %s, kept as it is; the older one is %s%s", rep.File, display.Size(rep.Size), rep.Replaced, strings.Replace(rep.deletion(), "; the old archive is "+rep.Replaced, "", 1))
	case kind == "plain":
		w.Term.Report("%s: %s, kept as it is%s", rep.File, display.Size(rep.Size), rep.deletion())
	default:
		w.Term.Report("%s: hard link%s", rep.File, rep.deletion())
	}
}

// linkWork is the work on further names of files.
func (v *archiver) linkWork() cli.Work {
	return cli.Work{One: v.link, Failed: v.failed, Light: true, Fixed: 8 << 20}
}

// link makes a further name of a file that is done: a hard link in the folder of targets, where that can have it.
func (v *archiver) link(ctx context.Context, j *cli.Job) (end func(), err error) {
	w := &work{Job: j, rep: &archiveReport{File: terminal.ReportName(j.Name)}}
	end = func() { v.sum.add(&w.sum) }
	rel := filepath.ToSlash(j.Rel)
	to := v.whole.first[rel]
	v.whole.mu.Lock()
	first, ok := v.whole.done[to]
	v.whole.mu.Unlock()
	if !ok {
		return end, v.whole.notArchived(to)
	}
	if had := v.whole.tree.Find(rel); had != nil && had.Stored() != "" && had.SHA256 != "" && had.SHA256 != first.SHA256 && !v.packs.on() {
		return end, terminal.Lasting(fmt.Errorf("%s: it is a further name of %s now, and the existing file has other bytes: %w", terminal.ShowName(urls.Below(v.run.Dest.Name, had.Stored())), v.whole.src.ShowsAs(to), atomicfile.ErrExists))
	}
	if w.in, err = v.run.In.OpenFile(ctx, j.File); err != nil {
		return end, err
	}
	defer w.in.Close()
	w.Plain = first.Kind == treefile.Plain
	w.rep.SHA256, w.rep.Size, w.rep.below = first.SHA256, first.Size, first.Stored()
	if w.rep.Target, err = v.at(ctx, first.Stored()); err != nil {
		return end, err
	}
	w.rep.Checked = true
	if w.in.Size != first.Size || !w.in.Stat.ModTime().Equal(first.Modified) {
		return end, archive.ErrChanged
	}
	before := false // it was there
	if j.At != "" && !s3.IsURL(v.run.Dest.Name) && !v.packs.on() {
		linked, made, err := v.run.Targets.HardLink(first.Stored(), j.At)
		if err != nil {
			return end, err
		}
		before = linked && !made
		if linked {
			w.rep.Target, w.rep.below = urls.Below(v.run.Dest.Name, j.At), j.At
		}
	}
	w.Entry.Target, w.Entry.Size = w.rep.Target, 0
	if v.proof.file != nil {
		sum, err := v.sumOf(ctx, w)
		if err != nil {
			return end, err
		}
		if sum != first.SHA256 {
			return end, archive.ErrChanged
		}
		if st, err := os.Stat(w.rep.Target); err == nil {
			w.rep.ArchiveSize = st.Size()
		}
	}
	w.rep.Ratio = display.Ratio(w.rep.Size, w.rep.ArchiveSize)
	err = v.proof.settle(ctx, v, w)
	if errors.Is(err, protect.ErrKept) {
		w.Entry.Outcome = runlog.Kept
	}
	switch {
	case err != nil && !errors.Is(err, protect.ErrKept):
	case before:
		w.countDeleted()
		v.passOver(w, w.in.Name, "linked before as "+w.rep.Target+w.rep.deletion(), w.rep.Deleted)
	default:
		v.donePlain(w, string(treefile.HardLink))
	}
	return end, err
}

// at returns where a file of the tree is kept: below -o DIR/, or in a volume.
func (v *archiver) at(ctx context.Context, stored string) (string, error) {
	if !v.packs.on() {
		return urls.Below(v.run.Dest.Name, stored), nil
	}
	at, _, err := v.packs.out.Earlier.Find(ctx, stored)
	return at, err
}

// settlePlain is settle for a plain file of an earlier run.
func (p *proof) settlePlain(ctx context.Context, v *archiver, w *work) error {
	if p.file == nil || v.dry {
		return nil
	}
	if !p.deletes {
		path, err := absolute(w.rep.Target)
		if err != nil {
			return err
		}
		if has, err := p.file.Has(ctx, path, w.rep.SHA256); has || err != nil {
			return err
		}
	}
	sum, err := v.sumOf(ctx, w)
	if err != nil {
		return err
	}
	if sum != w.rep.SHA256 {
		return fmt.Errorf("the source has other bytes than %s: SHA-256 %s, expected %s", w.rep.Target, sum, w.rep.SHA256)
	}
	return p.settle(ctx, v, w)
}

// fillSums adds the SHA-256 of files that a killed run has archived, and whose sources it has deleted, from the receipts.
func (p *proof) fillSums(ctx context.Context, v *archiver, t *treefile.Tree) (*treefile.Tree, error) {
	if p.file == nil || s3.IsURL(v.run.Dest.Name) {
		return t, nil
	}
	all := slices.Clone(t.Entries())
	filled := false
	for i := range all {
		e := &all[i]
		if e.Stored() == "" || e.SHA256 != "" {
			continue
		}
		path, err := v.at(context.WithoutCancel(ctx), e.Stored())
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		var abs string
		if err == nil {
			abs, err = absolute(path)
		}
		if err != nil {
			return nil, err
		}
		list, err := p.file.Index().OfArchive(context.WithoutCancel(ctx), abs)
		if err != nil {
			return nil, err
		}
		if n := len(list); n > 0 && list[n-1].Size == e.Size {
			e.SHA256, filled = list[n-1].SHA256, true
		}
	}
	if !filled {
		return t, nil
	}
	return treefile.New(all)
}

// deleteRest deletes the symbolic links that the tree file has, and then the folders that are empty.
func (t *whole) deleteRest(ctx context.Context, v *archiver) {
	for i := range t.entries {
		if e := &t.entries[i]; e.Kind == treefile.Link && ctx.Err() == nil {
			if err := t.deleteLink(ctx, v, e); err != nil {
				v.failed(t.src.ShowsAs(e.Path), err)
			} else {
				v.sum.Deleted++
			}
		}
	}
	for _, e := range slices.Backward(t.entries) {
		if e.Kind != treefile.Folder || e.Path == "." || v.proof.weak != nil || ctx.Err() != nil {
			continue
		}
		if now := t.tree.Find(e.Path); now == nil || now.Kind != treefile.Folder {
			continue
		}
		if dir, err := t.src.Folder(filepath.Dir(e.Path)); err == nil {
			atomicfile.RemoveFolder(dir.Root, filepath.Base(e.Path))
			dir.Close()
		}
	}
}

// deleteLink deletes a symbolic link of the tree after its receipt is on disk.
func (t *whole) deleteLink(ctx context.Context, v *archiver, e *treefile.Entry) error {
	kept := func(err error) error { return fmt.Errorf("%w: %w", protect.ErrKept, err) }
	had := t.tree.Find(e.Path)
	if had == nil || had.Kind != treefile.Link || had.To != e.To {
		return kept(errors.New("the tree file does not list it"))
	}
	if err := cmp.Or(v.packs.unprotected(), v.proof.weak); err != nil {
		return kept(err)
	}
	target := urls.Below(v.run.Dest.Name, e.Placed())
	if v.packs.on() {
		at, m, err := v.packs.proves(ctx, v, e.Placed())
		if err != nil {
			return kept(err)
		}
		if target = at; m.Kind != volume.Symlink || m.Target != e.To {
			return kept(fmt.Errorf("%s is not this link", terminal.ShowName(target)))
		}
	} else if to, err := os.Readlink(target); err != nil || to != e.To {
		return kept(fmt.Errorf("%s is not this link", terminal.ShowName(target)))
	}
	sum := sha256.Sum256([]byte(e.To))
	n := int64(len(e.To))
	rec := &receiptfile.Receipt{Size: n, ArchiveSize: n, SHA256: hex.EncodeToString(sum[:]), Ratio: 1, Version: archive.Version, Below: e.Placed(),
		Kind: receiptfile.Link, Modified: filetime.Time{Time: e.Modified}}
	var err error
	if rec.Source, err = absolute(t.src.Name(e.Path)); err != nil {
		return err
	}
	if rec.Archive, err = absolute(target); err != nil {
		return err
	}
	if err := v.proof.file.Add(ctx, rec); err != nil {
		return err
	}
	dir, err := t.src.Folder(filepath.Dir(e.Path))
	if err != nil {
		return kept(err)
	}
	defer dir.Close()
	switch err := protect.DeleteLink(dir.Root, filepath.Base(e.Path), e.To); {
	case errors.Is(err, fs.ErrNotExist): // another run has deleted it
		return nil
	case errors.Is(err, nofollow.ErrReplaced):
		return kept(errors.New("another file has its name now"))
	case err != nil:
		return kept(err)
	}
	return nil
}
