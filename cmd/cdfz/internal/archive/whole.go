package archive

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/display"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/fileio"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/protect"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/treefile"
	"github.com/cdfz-format/cdfz/internal/s3"
	"github.com/cdfz-format/cdfz/remote"
)

// whole is --whole: everything below the FILE is kept. Classic files become archives, and all other files stay as they
// are. The tree file has what the file system of the targets may not hold.
//
// The tree file is written twice. Before the first file is archived, it gets all that is known of the tree then: what
// --delete-source deletes is described there. In the end it gets sizes and SHA-256 of the files that were done. What earlier
// runs have kept stays described as it is until then, or until its new state is kept and its source is to be deleted.
type whole struct {
	on      bool
	src     *fileio.Whole
	entries []treefile.Entry  // of this run, by path
	links   []fileio.File     // further names of files
	first   map[string]string // the first of the names of a file, by the others
	named   map[string]bool   // those first names
	rights  func(*os.File)    // of the tree file
	tree    *treefile.Tree    // that was on disk when the work began

	mu   sync.Mutex
	done map[string]treefile.Entry // files that are done, by path
	kept map[string]string         // places of older states that this run has kept, by path

	listing sync.Mutex
	listed  *treefile.Tree  // that is on disk
	held    map[string]bool // files and further names, by path, whose older state the tree file on disk has, or nothing of them
}

// check checks the flags.
func (t *whole) check(v *archiver, args []string) error {
	if !t.on {
		return nil
	}
	local := func() bool {
		if len(args) != 1 || remote.IsURL(args[0]) || args[0] == terminal.StdinName {
			return false
		}
		st, err := os.Stat(args[0])
		return err == nil && st.IsDir()
	}
	switch {
	case v.run.Select.From != "":
		return terminal.Hinted(errors.New("--whole: contradicts --files-from"), "--include and --exclude choose files")
	case !local():
		return errors.New("--whole: expected one FILE, a folder")
	case v.run.Dest.Name == "" || !v.run.Dest.IsDir():
		return terminal.Hinted(errors.New("--whole: expected -o DIR/ too, the folder of archives"), "without it, everything else is already where the archives are")
	case v.unpacks:
		return errors.New("--whole: contradicts --decompress, whose archives do not restore the compressed files")
	case len(v.specs.Lossy()) > 0:
		return errors.New("--whole: contradicts --lossy, whose archives do not restore the source")
	case v.run.Select.Balance:
		return errors.New("--whole: contradicts --balance")
	case !s3.IsURL(v.run.Dest.Name) && v.run.Targets.IsBelow(v.run.Dest.Name, args[0]):
		return fmt.Errorf("--whole: -o %s is in %s, and would become a part of it", terminal.ShowName(v.run.Dest.Name), terminal.ShowName(args[0]))
	}
	return nil
}

// find lists the files of the tree, and decides where each is kept.
func (t *whole) find(ctx context.Context, v *archiver, arg string) (list fileio.List, err error) {
	if t.src, err = v.run.FindWhole(ctx, arg, v.failed); err != nil {
		return list, err
	}
	var old *treefile.Tree
	if v.packs.on() {
		old, err = v.packs.readTree(ctx)
	} else {
		old, err = fileio.ReadTree(ctx, v.run.Dest.Name)
	}
	if err != nil {
		t.src.Close()
		return list, err
	}
	t.done, t.kept, t.held = map[string]treefile.Entry{}, map[string]string{}, map[string]bool{}
	t.describe(v)
	first, names := firstNames(t.src.Items)
	places := placesOf(t.src.Items, first, old, s3.IsURL(v.run.Dest.Name) && !v.packs.on())
	rights := t.sourceRights()
	if t.first = first; v.packs.on() {
		v.run.In.UsesRights(rights, filepath.Clean(arg)+string(filepath.Separator)+".")
	}
	t.rights = v.run.Targets.RightsOfAll(rights, filepath.Clean(arg)+string(filepath.Separator)+".")
	var files []fileio.File
	for i := range t.src.Items {
		it := &t.src.Items[i]
		to, again := first[it.Rel]
		if again {
			it.Own = names[to]
		}
		if !it.Own || it.IsSpecial() {
			continue
		}
		e := entryOf(it)
		e.Emptied = v.proof.deletes && e.Kind == treefile.Folder
		if again {
			e = treefile.Entry{Path: it.Rel, Kind: treefile.HardLink, To: to}
		}
		p := places[it.Rel]
		if e.Kind == treefile.Archive && p.plain {
			e.Kind = treefile.Plain
		}
		if e.Stored() != "" && e.Stored() != p.at || e.Kind == treefile.Link {
			e.At = p.at
		}
		t.entries = append(t.entries, e)
		f := t.src.File(it)
		switch e.Kind {
		case treefile.Archive, treefile.Plain:
			f.At, f.Plain = p.at, e.Kind == treefile.Plain
			files = append(files, f)
		case treefile.HardLink:
			f.At = p.at
			t.links = append(t.links, f)
		}
	}
	return t.src.List(files), nil
}

// describe reports what no target can hold, at once.
func (t *whole) describe(v *archiver) {
	kinds := map[string][]string{}
	attributes := map[string][]string{}
	for i := range t.src.Items {
		it := &t.src.Items[i]
		if it.Own && it.IsSpecial() {
			kinds[it.Kind] = append(kinds[it.Kind], it.Rel)
		}
		for _, name := range it.Left {
			attributes[name] = append(attributes[name], it.Rel)
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		list := kinds[kind]
		for _, rel := range list {
			v.run.LogFailure(t.src.ShowsAs(rel), refusedKind(kind))
			if v.run.Term.JSON {
				v.run.Term.Emit(fileio.Skipped{File: terminal.ReportName(t.src.Name(rel)), Reason: kind})
			}
		}
		v.sum.Failed += int64(len(list))
		err := refusedKind(kind)
		if n := len(list) - 1; n > 0 {
			err = terminal.Lasting(fmt.Errorf("%w; and %s", err, display.Count(int64(n), "other "+kind)))
		}
		v.run.Term.FailFile(t.src.ShowsAs(list[0]), err)
	}
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		list := attributes[name]
		v.run.Term.Message("warning: %s: the extended attribute %s cannot be kept; of %s in all", t.src.ShowsAs(list[0]), name, display.Count(int64(len(list)), "file"))
	}
}

func refusedKind(kind string) error {
	return terminal.Lasting(fmt.Errorf("is a %s, which no archive can hold: it is left out", kind))
}

// prepare writes what is known of the tree to the tree file, and makes the folders and links of the targets.
func (t *whole) prepare(ctx context.Context, v *archiver) error {
	var refused []string
	var err error
	if v.packs.on() {
		var old *treefile.Tree
		if old, err = v.packs.out.Earlier.Tree(ctx, time.Time{}); err == nil {
			t.tree, refused, err = t.merge(v, old, slices.Clone(t.entries))
		}
		if err == nil && v.proof.deletes && !v.dry {
			err = v.packs.writeTree(ctx, t.tree)
		}
	} else {
		t.tree, err = v.run.Targets.UpdateTree(ctx, t.rights, func(old *treefile.Tree) (merged *treefile.Tree, err error) {
			merged, refused, err = t.merge(v, old, slices.Clone(t.entries))
			return merged, err
		})
	}
	if err != nil {
		return err
	}
	for _, rel := range refused {
		v.run.FailLogged(t.src.ShowsAs(rel), terminal.Lasting(t.refusal(rel)))
		v.sum.Failed++
	}
	out := slices.Compact(slices.Sorted(slices.Values(refused)))
	left := func(f fileio.File) bool {
		_, found := slices.BinarySearch(out, filepath.ToSlash(f.Rel))
		return found
	}
	v.files.Files = slices.DeleteFunc(v.files.Files, left)
	t.links = slices.DeleteFunc(t.links, left)
	t.entries = slices.DeleteFunc(t.entries, func(e treefile.Entry) bool {
		_, found := slices.BinarySearch(out, e.Path)
		return found
	})
	t.hold()
	if v.proof.deletes && v.proof.weak == nil {
		v.proof.weak = t.durable(ctx, v)
	}
	if v.packs.on() {
		v.packs.prepare(v, t)
		return nil
	}
	if s3.IsURL(v.run.Dest.Name) {
		return nil
	}
	for i := range t.entries {
		e := &t.entries[i]
		if now := t.tree.Find(e.Path); now == nil || now.Kind != e.Kind || ctx.Err() != nil {
			continue
		}
		var err error
		switch e.Kind {
		case treefile.Folder:
			err = v.run.Targets.MakeFolder(e.Path, t.src.Name(e.Path))
		case treefile.Link:
			_, err = v.run.Targets.MakeLink(e, e.Placed()) // the tree file has all attributes
		}
		if err != nil {
			v.failed(t.src.ShowsAs(e.Path), err)
		}
	}
	return nil
}

// durable returns an error unless the tree file is where it stays.
func (t *whole) durable(ctx context.Context, v *archiver) error {
	if v.packs.on() {
		_, _, err := v.packs.proves(ctx, v, treefile.Name)
		return err
	}
	f, err := os.Open(fileio.TreePath(v.run.Dest.Name))
	if err != nil {
		return err
	}
	defer f.Close()
	return protect.Durable(v.run.In.Mounts, "the tree file", f, nil)
}

// groupOf returns the first name of a file with several names, or "" for others.
func (t *whole) groupOf(j fileio.File) string {
	rel := filepath.ToSlash(j.Rel)
	if to, ok := t.first[rel]; ok {
		return to
	}
	if t.named == nil {
		t.named = map[string]bool{}
		for _, to := range t.first {
			t.named[to] = true
		}
	}
	if t.named[rel] {
		return rel
	}
	return ""
}

// plainLink reports whether a further name is that of a file that is kept as it is.
func (t *whole) plainLink(j fileio.File) bool {
	to := t.first[filepath.ToSlash(j.Rel)]
	i, found := slices.BinarySearchFunc(t.entries, to, func(e treefile.Entry, to string) int { return strings.Compare(e.Path, to) })
	return found && t.entries[i].Kind == treefile.Plain
}

// finish makes the further names of files, completes the tree file, sets the times of folders, and with --delete-source deletes
// links and folders.
func (t *whole) finish(ctx context.Context, v *archiver) {
	if ctx.Err() == nil && len(t.links) > 0 {
		list := t.src.List(t.links)
		v.run.Parallel(ctx, list, v.linkWork())
	}
	update := func(old *treefile.Tree) (*treefile.Tree, error) {
		merged, _, err := t.merge(v, old, t.withLinks(slices.Collect(maps.Values(t.done))...)) // what it refuses has failed
		if err != nil {
			return nil, err
		}
		return v.proof.fillSums(ctx, v, merged)
	}
	var err error
	if v.packs.on() {
		if v.packs.broken != nil || ctx.Err() != nil {
			return // the next run writes the tree file
		}
		var merged *treefile.Tree
		if merged, err = update(t.listed); err == nil {
			err = v.packs.writeTree(ctx, merged)
		}
	} else {
		_, err = v.run.Targets.UpdateTree(context.WithoutCancel(ctx), t.rights, update)
	}
	if err != nil {
		v.failed(terminal.ShowName(fileio.TreePath(v.run.Dest.Name)), err)
		return
	}
	if v.proof.deletes && ctx.Err() == nil {
		t.deleteRest(ctx, v)
	}
	if s3.IsURL(v.run.Dest.Name) || v.packs.on() {
		return
	}
	for _, e := range slices.Backward(t.entries) {
		if e.Kind == treefile.Folder {
			v.run.Targets.SetFolder(t.tree.Find(e.Path))
		}
	}
}
