package fileio

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/cdfz-format/cdfz/archive/volume"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/treefile"
	"github.com/cdfz-format/cdfz/internal/ioat"
	"github.com/cdfz-format/cdfz/internal/s3"
	"github.com/cdfz-format/cdfz/remote"
)

// FindTrees finds the trees of FILEs that archive --whole has made. It calls failed for a damaged tree file.
func (f *Finder) FindTrees(ctx context.Context, names []string, failed func(name string, err error)) (list Trees) {
	for _, name := range names {
		of, err := f.FindTree(ctx, name)
		switch {
		case errors.Is(err, fs.ErrPermission): // only those who may read all of the tree may read its file
		case err != nil:
			failed(terminal.ShowName(TreePath(name)), err)
		case of != nil:
			list = append(list, of)
		}
	}
	return list
}

// FindTree finds the tree of a FILE as the function FindTree does, also if the FILE is a volume, or a folder of volumes, of
// which one has the tree file. Then it is that of the last one.
func (f *Finder) FindTree(ctx context.Context, file string) (*TreeOf, error) {
	of, err := FindTree(ctx, file)
	if of != nil || err != nil {
		return of, err
	}
	n := f.targets.in
	in, dir, one := &Volumes{n: n}, file, false
	if j := (File{Name: file}); f.IsVolume(ctx, j) {
		i, err := n.useVolume(ctx, j)
		if err != nil {
			return nil, nil // the run reports it
		}
		in.list = append(in.list, i)
		one = true
		if dir = folderOf(file); remote.IsURL(file) {
			dir = file[:strings.LastIndexByte(file, '/')+1]
		}
	} else if in, err = f.volumesOf(ctx, file); in == nil || err != nil {
		return nil, err
	}
	defer in.Close()
	t, err := in.Tree(ctx, f.AsOf)
	if t == nil || err != nil {
		return nil, err
	}
	t.ByStored("")
	of = &TreeOf{Tree: t, Folder: dir, Below: ".", file: file, volumes: true, oneOfSeveral: one && hasOthers(file), links: map[string]string{}}
	for _, i := range in.list {
		of.in = append(of.in, i.Key)
	}
	if of.oneOfSeveral {
		of.members = map[string]bool{}
		for e, err := range in.list[0].Value.Members(ctx, "") {
			if err != nil {
				return nil, err
			}
			of.members[e.Path] = true
		}
	}
	for _, e := range t.Entries() {
		if e.Kind != treefile.Link && e.Kind != treefile.HardLink {
			continue
		}
		paths, err := in.Paths(ctx, of.memberOf(&e))
		if err != nil {
			return nil, err
		}
		if len(paths) > 0 {
			of.links[e.Path] = paths[0]
		}
	}
	return of, nil
}

// memberOf returns the path of the member of volumes that an entry is.
func (t *TreeOf) memberOf(e *treefile.Entry) string {
	switch {
	case e.Kind == treefile.HardLink && t.Tree.Find(e.To).Kind == treefile.Archive:
		return e.Placed() + treefile.Suffix
	case e.Kind == treefile.Archive || e.Kind == treefile.Plain:
		return e.Stored()
	}
	return e.Placed()
}

// Holds reports whether the FILE has what an entry is: one volume of several may hold a part of the tree alone.
func (t *TreeOf) Holds(e *treefile.Entry) bool {
	return t.Has(e.Path) && (t.members == nil || e.Path == "." || t.members[t.memberOf(e)])
}

// InVolumes reports whether the tree is in volumes.
func (t *TreeOf) InVolumes() bool { return t.volumes }

// Tree returns the tree that volumes have which were packed until a time, the zero time for all, or nil. It is that of the
// last volume with a tree file. Shards write theirs at the same time: of each, the last one counts.
func (v *Volumes) Tree(ctx context.Context, asOf time.Time) (*treefile.Tree, error) {
	var trees []*treefile.Tree
	seen := map[string]bool{}
	for _, i := range slices.Backward(v.list) {
		if !asOf.IsZero() && v.packed(i).After(asOf) || seen[seriesOf(i.Key)] {
			continue
		}
		e, err := i.Value.Lookup(ctx, treefile.Name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		r, size, err := i.Value.Contents(ctx, e)
		if err != nil {
			return nil, err
		}
		t, err := readTree(io.NewSectionReader(ioat.Bind(ctx, r), 0, size), MemberName(i.Key, treefile.Name))
		if err != nil {
			return nil, err
		}
		seen[seriesOf(i.Key)], trees = true, append(trees, t)
	}
	if len(trees) == 0 {
		return nil, nil
	}
	all := trees[len(trees)-1]
	for _, t := range slices.Backward(trees[:len(trees)-1]) {
		var err error
		if all, _, err = all.Merge(slices.Clone(t.Entries()), treefile.Merging{Volumes: true}); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// seriesOf returns what the names of volumes have in common that one run after the other writes: 3-of-8- of 3-of-8-0001.tar.
func seriesOf(name string) string {
	name, _, _ = strings.Cut(name, "?")
	return strings.TrimRight(strings.TrimSuffix(name, volume.Suffix), "0123456789")
}

// hasOthers reports whether there may be other volumes beside one. In a store or on a server, nobody looks.
func hasOthers(file string) bool {
	if remote.IsURL(file) {
		return true
	}
	entries, _ := os.ReadDir(folderOf(file))
	return slices.ContainsFunc(entries, func(d fs.DirEntry) bool {
		return path.Ext(d.Name()) == volume.Suffix && d.Name() != filepath.Base(file)
	})
}

// volumesOf opens the volumes in a FILE that is a folder or a prefix. It returns nil for others. A prefix is listed once, if
// its first page is all of it. A volume that cannot be opened is left out: the run reports it, and what the others have can be
// restored with their tree.
func (f *Finder) volumesOf(ctx context.Context, file string) (*Volumes, error) {
	reported := func(string, error) {}
	if !s3.IsPrefix(file) {
		if st, err := os.Stat(file); err != nil || !st.IsDir() {
			return nil, nil
		}
		return f.targets.in.OpenVolumes(ctx, file, reported)
	}
	if f.begun == nil {
		f.begun = map[string]*s3.Listing{}
	}
	f.begun[file] = s3.NewListing(file)
	page, all, err := f.begun[file].First(ctx)
	if err != nil {
		delete(f.begun, file)
		return nil, err
	}
	if !all {
		return f.targets.in.OpenVolumes(ctx, file, reported)
	}
	return f.targets.in.openVolumes(ctx, file, namesOf(page), reported)
}
