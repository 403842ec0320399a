package verify

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"time"

	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/display"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/fileio"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/treefile"
	"github.com/cdfz-format/cdfz/internal/runlog"
	"github.com/cdfz-format/cdfz/internal/urls"
)

// trees are the FILEs that archive --whole has made, or that are in such a folder: the files that were kept as they are are
// verified, too.
type trees struct {
	list fileio.Trees

	mu  sync.Mutex
	met map[*treefile.Entry]bool
}

// find finds the trees of FILEs. It calls failed for a damaged tree file.
func (t *trees) find(ctx context.Context, f *fileio.Finder, args []string, failed func(name string, err error)) {
	t.met = map[*treefile.Entry]bool{}
	t.list = f.FindTrees(ctx, args, failed)
}

// selects selects archives, and files that were kept as they are.
func (t *trees) selects(e fileio.Entry) (string, error) {
	if t.list.Entry(e.Name) != nil {
		return "", nil
	}
	return fileio.Archives(e)
}

// missing calls failed for what is listed, but was not found. takes reports whether the run looks for a file, by its path
// below the FILE.
func (t *trees) missing(takes func(rel string) bool, failed func(name string, err error)) {
	for _, of := range t.list {
		for i := range of.Tree.Entries() {
			e := &of.Tree.Entries()[i]
			at := e.Stored()
			if at == "" || of.IsPart() || !of.Has(at) || t.met[e] || !takes(of.Inner(at)) {
				continue
			}
			failed(terminal.ShowName(of.StoredAt(e)), fmt.Errorf("the tree file lists it, but it is missing: %w", fs.ErrNotExist))
		}
	}
}

// plain checks a file that was kept as it is.
func (v *verifier) plain(ctx context.Context, j *cli.Job, e *treefile.Entry) (verdict, error) {
	in, err := v.run.In.OpenFile(ctx, j.File)
	if err != nil {
		return broken, err
	}
	defer in.Close()
	if v.passesOver(j, in) {
		return provedBefore, nil
	}
	start := time.Now()
	state, err := j.State(ctx)
	if err != nil {
		return broken, err
	}
	passes := 1
	if v.against.given() {
		passes = 2
	}
	sum := j.SHA256 // the volume was read, and has it
	if sum == "" {
		v.scrub.slow(ctx, in)
		if sum, err = in.SHA256(ctx, j.Term.Step(in.Name, in.Size, 0, passes)); err != nil {
			return broken, err
		}
	}
	j.Entry.Size, j.Entry.ArchiveSize, j.Entry.Ratio, j.Entry.SHA256 = in.Size, in.Size, 1, sum
	out := verifyReport{File: terminal.ReportName(j.Name), OK: true, Size: in.Size, SHA256: sum, Kind: string(treefile.Plain)}
	switch {
	case state.Current != "": // the tree file lists the current state
		out.older = v.against.given()
	case e.SHA256 == "":
		return broken, errors.New("the tree file has no SHA-256 of it: the run that kept it was stopped, or is still at work")
	case in.Size != e.Size || sum != e.SHA256:
		text := fmt.Sprintf("expected %d bytes with SHA-256 %s, as the tree file lists, found %d with %s", e.Size, e.SHA256, in.Size, sum)
		j.Term.SetCode(terminal.ExitDamaged)
		j.Entry.Outcome, j.Entry.Exit, j.Entry.Error = runlog.Damaged, terminal.ExitDamaged, text
		out.OK, out.Damaged = false, 1
		if !j.Term.JSON {
			j.Term.Print("%s: %s", terminal.ShowName(out.File), text)
		}
	case v.against.given():
		if err := v.comparePlain(ctx, j, in, e, &out); err != nil {
			return broken, err
		}
	}
	if out.OK {
		if out.Before, err = v.note(j, in, sum, start); err != nil {
			return broken, err
		}
	}
	out.Seconds = display.Round(time.Since(start).Seconds(), 6)
	out.print(j.Term)
	return out.verdict(), nil
}

// comparePlain compares a file that was kept as it is with its original. The file itself proves nothing.
func (v *verifier) comparePlain(ctx context.Context, j *cli.Job, in *fileio.Input, e *treefile.Entry, out *verifyReport) error {
	name, err := v.originalOf(j.File)
	if err != nil {
		return err
	}
	orig, err := v.run.In.Open(ctx, name)
	if err != nil {
		return err
	}
	defer orig.Close()
	if err := v.mayProve(ctx, orig, name); err != nil {
		return err
	}
	if err := v.run.In.Same(in, orig); err != nil {
		return nothing(name, err)
	}
	sum, err := orig.SHA256(ctx, j.Term.Step(in.Name, in.Size, 1, 2))
	switch {
	case err != nil:
		return fmt.Errorf("original %s: %w", terminal.ReportName(name), err)
	case sum != e.SHA256:
		return fmt.Errorf("differs from %s: SHA-256 %s, there %s", terminal.ShowName(name), e.SHA256, sum)
	}
	out.Original = terminal.ReportName(name)
	return nil
}

// originalOf returns the original of a file.
func (v *verifier) originalOf(j fileio.File) (string, error) {
	if e := v.trees.list.Entry(j.Name); e != nil && v.against.folder {
		return urls.Below(v.against.names[0], v.trees.inner(j.Name, e)), nil
	}
	return v.against.of(j)
}

// inner returns the path of the original of a file below that of the FILE.
func (t *trees) inner(name string, e *treefile.Entry) string {
	for _, of := range t.list {
		if of.Tree.ByStored(of.RelOf(name)) == e {
			return of.Inner(e.Path)
		}
	}
	return e.Path
}
