package copy

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/display"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/fileio"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/protect"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/treefile"
	"github.com/cdfz-format/cdfz/internal/atomicfile"
	"github.com/cdfz-format/cdfz/internal/s3"
)

// toPlain is the copy of a file of a whole tree that is kept as it is.
const toPlain copyKind = "plain"

// tree is the whole tree that IN is, or is a part of.
type tree struct {
	*fileio.TreeOf
	part *treefile.Tree  // what is copied, with paths below IN
	met  map[string]bool // paths of files of it that were found
	// held has the paths of files that the target has in an older state. The tree file of the copy lists the new state once it
	// is copied.
	held   map[string]bool
	copied map[string]bool // paths of files that the target has now
}

// findTree finds the tree file of IN. Copies as classic files have none.
func (v *copier) findTree(ctx context.Context, args []string) (*tree, error) {
	if v.to == toClassic || len(args) != 1 {
		return nil, nil
	}
	of, err := v.run.Finder.FindTree(ctx, args[0])
	if of == nil || err != nil {
		return nil, err
	}
	t := &tree{TreeOf: of, met: map[string]bool{}, copied: map[string]bool{}}
	t.part, err = treefile.New(t.entries(v.run.Select.Chooses))
	t.part.ByStored("")
	return t, err
}

// entries returns the entries of what is copied. A further name of a file outside of IN becomes the first one here.
func (t *tree) entries(chosen func(rel string) bool) (list []treefile.Entry) {
	now := map[string]string{} // paths of files here
	for _, e := range t.Tree.Entries() {
		if !t.Holds(&e) {
			continue
		}
		was := e.Path
		if e.Kind == treefile.HardLink {
			to, copied := now[e.To]
			switch {
			case copied:
				e.Path, e.To = t.Inner(was), to
				list = append(list, e)
				continue
			case t.Holds(t.Tree.Find(e.To)): // it is not chosen
				continue
			}
			was = e.To
			first := *t.Tree.Find(e.To)
			first.Path, first.At = e.Path, ""
			e = first
		}
		e.Path = t.Inner(e.Path)
		if e.At != "" {
			e.At = t.Inner(e.At)
		}
		at := e.Stored()
		if e.Kind == treefile.Link {
			at = e.Placed()
		}
		if e.Kind == treefile.Folder || chosen(at) {
			now[was] = e.Path
			list = append(list, e)
		}
	}
	return list
}

// inner returns the path of a file below IN.
func (t *tree) inner(name string) string { return t.Inner(t.RelOf(name)) }

// selects selects the files that hold what the tree has, and archives that it does not know.
func (t *tree) selects(e fileio.Entry) (string, error) {
	rel := t.inner(e.Name)
	if rel == treefile.Name && t.Below == "." {
		return "tree file", nil
	}
	if t.part.ByStored(rel) != nil {
		return "", nil
	}
	base := strings.TrimSuffix(rel, treefile.Suffix)
	for _, p := range []string{rel, base} {
		if e := t.part.Find(p); e != nil && e.Kind == treefile.HardLink {
			return "a further name", nil
		}
	}
	return fileio.Archives(e)
}

// found returns the entry of a file that is at work, or nil.
func (t *tree) found(name string) *treefile.Entry {
	if t == nil {
		return nil
	}
	e := t.part.ByStored(t.inner(name))
	if e != nil {
		t.met[e.Path] = true
	}
	return e
}

// write writes the tree file of the copy, before the files. If the target has an older state of a file, that state stays
// listed.
func (t *tree) write(ctx context.Context, v *copier) error {
	return t.update(ctx, v, func(old *treefile.Tree) []treefile.Entry {
		t.held = map[string]bool{}
		list := slices.Clone(t.part.Entries())
		for i := range list {
			e := &list[i]
			if had := old.Linked(old.Find(e.Path)); e.SHA256 != "" && had != nil && had.SHA256 != "" && had.SHA256 != e.SHA256 {
				t.held[e.Path] = true
				e.SHA256 = ""
			}
		}
		return list
	})
}

// complete lists the new states of files that have replaced older ones, and their further names.
func (t *tree) complete(ctx context.Context, v *copier) error {
	now := map[string]bool{}
	for path := range t.held {
		if t.copied[path] {
			now[path] = true
		}
	}
	if len(now) == 0 {
		return nil
	}
	return t.update(context.WithoutCancel(ctx), v, func(*treefile.Tree) []treefile.Entry {
		return slices.DeleteFunc(slices.Clone(t.part.Entries()), func(e treefile.Entry) bool { return !now[e.Path] && !now[e.To] })
	})
}

// update merges entries into the tree file of the copy.
func (t *tree) update(ctx context.Context, v *copier, entries func(old *treefile.Tree) []treefile.Entry) error {
	rights, err := v.run.Targets.RightsLikeTree(t.TreeOf)
	if err != nil {
		return err
	}
	var refused []string
	_, err = v.run.Targets.UpdateTree(ctx, rights, func(old *treefile.Tree) (merged *treefile.Tree, err error) {
		merged, refused, err = old.Merge(entries(old), treefile.Merging{})
		return merged, err
	})
	for _, rel := range refused {
		v.run.Term.FailFile(terminal.ShowName(t.NameOf(rel)), terminal.Lasting(errors.New("the tree of the target has another kind of file at this path, and keeps it")))
	}
	return err
}

// missing reports files that the tree file lists, and that were not found.
func (t *tree) missing(v *copier) {
	for i := range t.part.Entries() {
		e := &t.part.Entries()[i]
		if (e.Kind == treefile.Archive || e.Kind == treefile.Plain) && !t.met[e.Path] && !v.run.Select.Balance {
			at := t.NameOf(e.Stored())
			if v.run.Barred(fileio.File{Name: at, Rel: e.Stored()}) {
				continue // it was not tried
			}
			v.run.Term.FailFile(terminal.ShowName(t.NameOf(e.Path)), fmt.Errorf("the tree file lists it, but %s is missing", terminal.ShowName(at)))
		}
	}
}

// rest makes the folders and the links of the copy, where it can have these, and sets the times of folders.
func (t *tree) rest(ctx context.Context, v *copier, source string) {
	if s3.IsURL(v.run.Dest.Name) {
		return
	}
	for i := range t.part.Entries() {
		if ctx.Err() != nil {
			return
		}
		e := &t.part.Entries()[i]
		var err error
		switch e.Kind {
		case treefile.Folder:
			switch {
			case t.InVolumes():
				err = v.run.Targets.MakeFolder(e.Path, "")
			case !s3.IsURL(source):
				err = v.run.Targets.MakeFolder(e.Path, filepath.Join(source, filepath.FromSlash(e.Path)))
			}
		case treefile.Link:
			_, err = v.run.Targets.MakeLink(e, e.Placed()) // the tree file has all attributes
		case treefile.HardLink:
			if t.held[e.To] && !t.copied[e.To] {
				continue
			}
			first := t.part.Find(e.To)
			to := e.Path
			if first.Kind == treefile.Archive {
				to += treefile.Suffix
			}
			_, _, err = v.run.Targets.HardLink(first.Stored(), to)
		case treefile.Archive, treefile.Plain:
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // the file of a link has failed
			v.run.Term.FailFile(terminal.ShowName(t.NameOf(e.Path)), err)
		}
	}
	for i := range slices.Backward(t.part.Entries()) {
		if e := &t.part.Entries()[i]; e.Kind == treefile.Folder {
			v.run.Targets.SetFolder(e)
			if t.InVolumes() && e.Path != "." {
				v.run.Targets.SetFolderRights(t.TreeOf, e)
			}
		}
	}
}

// copyPlain copies a file as it is, and compares it with the tree file.
func (v *copier) copyPlain(ctx context.Context, j *cli.Job, e *treefile.Entry) error {
	in, err := v.run.In.OpenFile(ctx, j.File)
	if err != nil {
		return err
	}
	defer in.Close()
	path, err := v.run.Targets.PathOf(j.File, func(s string) (string, error) { return s, nil })
	if err != nil {
		return err
	}
	if in.Size != e.Size {
		return treefile.Damaged("expected %d bytes, as the tree file lists, found %d", e.Size, in.Size)
	}
	if there, err := v.has(ctx, path, e); there || err != nil {
		if err == nil {
			j.Term.PassOver()
		}
		return err
	}
	start := time.Now()
	t := j.Target(path, in)
	t.Decision = protect.Decision{Action: protect.Write}
	t.Size, t.Sparse, t.Proved, t.Modified = in.Size, atomicfile.SparseAuto, true, e.Modified
	t.Xattrs = e.Xattrs
	dst, err := t.Sink(ctx)
	if err != nil {
		return err
	}
	defer dst.Abort()
	if _, err := fileio.WritePlain(ctx, dst, in, e, j.Term.Step(in.Name, in.Size, 0, 1)); err != nil {
		return err
	}
	rep := &copyReport{File: terminal.ReportName(j.Name), Target: path, To: toPlain, Size: in.Size, Written: in.Size, Seconds: display.Round(time.Since(start).Seconds(), 6)}
	v.report(j, in, rep)
	return nil
}

// has reports whether a target has the content of a file that is kept as it is. Another file stays, also with -f.
func (v *copier) has(ctx context.Context, path string, e *treefile.Entry) (bool, error) {
	if s3.IsURL(path) {
		return false, nil // the store decides
	}
	old, err := fileio.OpenRegular(path, os.O_RDONLY)
	if err != nil {
		return false, nil // making the target finds any obstacle
	}
	defer old.Close()
	if old.Size == e.Size && e.SHA256 != "" {
		sum, err := protect.SHA256(ctx, old.R, old.Size, nil)
		if sum == e.SHA256 || err != nil {
			return err == nil, err
		}
	}
	return false, fmt.Errorf("%s: the existing file has other bytes: %w", terminal.ShowName(path), atomicfile.ErrExists)
}
