package fileio

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
	"github.com/cdfz-format/cdfz/internal/atomicfile"
	"github.com/cdfz-format/cdfz/internal/nofollow"
	"github.com/cdfz-format/cdfz/internal/xattr"
)

// Item is a file, a folder or a link below a folder of which everything is kept.
type Item struct {
	Rel  string      // path below the folder, with slashes; "." for the folder itself
	Info fs.FileInfo // of a link itself
	To   string      // what a symbolic link has
	// Own reports that the item is in the shard of this run. Folders are in all.
	Own bool
	// Kind is the reason for which it is no archive, "" for a classic netCDF file.
	Kind string
	// Xattrs are the extended attributes, and Left the names of those that cannot be read.
	Xattrs map[string][]byte
	Left   []string
}

// Whole is a FILE argument that is a folder of which everything is kept.
type Whole struct {
	Items []Item // by path, folders before what is in them
	tree  *tree
	done  func()
	kinds Kinds // of what was skipped
}

// FindWhole lists all files, folders and links below a folder, apart from those that the user has excluded. Symbolic links are not
// followed. What cannot be read fails. The caller must close the result, or that of List.
func (f *Finder) FindWhole(ctx context.Context, arg string, failed func(name string, err error)) (*Whole, error) {
	t, err := openTree(arg)
	if err != nil {
		return nil, err
	}
	w := &Whole{tree: t, done: f.targets.taken.keepFolders()}
	root, err := f.itemOf(t, ".", nil)
	if err != nil {
		w.Close()
		return nil, err
	}
	w.Items = append(w.Items, *root)
	f.walkWhole(ctx, w, ".", failed)
	slices.SortFunc(w.Items, func(a, b Item) int { return strings.Compare(a.Rel, b.Rel) })
	return w, nil
}

// Close closes the folder.
func (w *Whole) Close() {
	w.done()
	w.tree.close()
}

// Name returns the path of an item.
func (w *Whole) Name(rel string) string { return w.tree.name(filepath.FromSlash(rel)) }

// File returns the file of an item.
func (w *Whole) File(it *Item) File {
	rel := filepath.FromSlash(it.Rel)
	return File{Name: w.tree.name(rel), Rel: rel, Size: it.Info.Size(), Modified: it.Info.ModTime(), tree: w.tree}
}

// Folder opens a folder below the folder. The caller must close it.
func (w *Whole) Folder(rel string) (*nofollow.Shared, error) {
	return w.tree.folder(filepath.FromSlash(rel))
}

// List returns a list of some of the files. Closing it closes the folder.
func (w *Whole) List(files []File) List {
	skipped := int64(0)
	for _, n := range w.kinds {
		skipped += n
	}
	return List{Files: files, Folders: true, skipped: skipped, kinds: w.kinds, trees: []*tree{w.tree}, done: w.done}
}

// walkWhole adds what a folder of the tree has.
func (f *Finder) walkWhole(ctx context.Context, w *Whole, rel string, failed func(name string, err error)) {
	t := w.tree
	in, err := t.folder(rel)
	if err != nil {
		failed(t.name(rel), err)
		return
	}
	defer in.Close()
	dir, err := in.Root.Open(".")
	if err == nil {
		defer dir.Close()
		var names []fs.DirEntry
		if names, err = dir.ReadDir(-1); err == nil {
			f.addWhole(ctx, w, in.Root, rel, names, failed)
		}
	}
	if err != nil {
		failed(t.name(rel), err)
	}
}

func (f *Finder) addWhole(ctx context.Context, w *Whole, in *os.Root, rel string, names []fs.DirEntry, failed func(name string, err error)) {
	for _, d := range names {
		if ctx.Err() != nil {
			return
		}
		base := d.Name()
		if atomicfile.IsAside(base) && f.TakesBack {
			if name, ok := atomicfile.PutBack(in, base); ok {
				if base = name; base == "" {
					continue // it was removed
				}
			}
		}
		at := filepath.Join(rel, base)
		name := w.tree.name(at)
		if reason := f.sel.excluded(at, d.IsDir()); reason != "" {
			f.skip(name, reason)
			w.kinds.add(reason)
			continue
		}
		if d.Type().IsRegular() && (atomicfile.IsTemporary(base) || atomicfile.IsAside(base)) {
			f.skip(name, notAFile(d, base))
			w.kinds.add(notAFile(d, base))
			continue
		}
		it, err := f.itemOf(w.tree, at, in)
		switch {
		case errors.Is(err, fs.ErrNotExist): // another program has removed it since
		case err != nil && (d.IsDir() || f.sel.takes(at)):
			failed(name, err)
		case err == nil:
			w.Items = append(w.Items, *it)
			if it.Info.IsDir() {
				f.walkWhole(ctx, w, at, failed)
			}
		}
	}
}

// The kinds of items that no target can have.
var special = []string{"FIFO", "socket", "device"}

// IsSpecial reports whether an item is a FIFO, a socket or a device.
func (it *Item) IsSpecial() bool { return slices.Contains(special, it.Kind) }

// itemOf looks at a file, a folder or a link. in is its folder, nil for the tree itself.
func (f *Finder) itemOf(t *tree, rel string, in *os.Root) (*Item, error) {
	it := &Item{Rel: filepath.ToSlash(rel), Own: f.sel.takes(rel)}
	base := filepath.Base(rel)
	var err error
	if in == nil {
		dir, err := t.folder(".")
		if err != nil {
			return nil, err
		}
		defer dir.Close()
		in = dir.Root
		base = "."
	}
	if it.Info, err = in.Lstat(base); err != nil {
		return nil, err
	}
	switch m := it.Info.Mode(); {
	case m.IsDir():
		it.Own, it.Kind = true, "folder"
	case m&fs.ModeSymlink != 0:
		it.Kind = symbolicLink
		if it.To, err = in.Readlink(base); err != nil || !it.Own {
			return it, err
		}
		if dir, err := in.Open("."); err == nil {
			it.Xattrs, it.Left = xattr.OfLink(dir, base)
			dir.Close()
		}
		return it, nil
	case !m.IsRegular():
		it.Kind = notAFile(fs.FileInfoToDirEntry(it.Info), base)
		return it, nil
	case !it.Own:
		return it, nil
	}
	var open *os.File
	if it.Info.IsDir() {
		open, err = in.Open(base)
	} else {
		open, it.Info, err = nofollow.File(in, base, os.O_RDONLY)
	}
	if err != nil {
		return nil, err
	}
	defer open.Close()
	it.Xattrs, it.Left = xattr.Of(open)
	if it.Info.IsDir() {
		return it, nil
	}
	k, err := sniff(open)
	switch {
	case err != nil:
		return nil, err
	case k == kindClassic:
		_, err := cdf3.Read(open, it.Info.Size())
		var format *cdf3.FormatError
		if errors.As(err, &format) || errors.Is(err, cdf3.ErrNotCDF) { // no archive can be made of it
			it.Kind, err = "damaged netCDF header", nil
		}
		return it, err
	case k == kindArchive:
		it.Kind = alreadyArchive
		return it, nil
	}
	it.Kind = string(k)
	return it, nil
}

// Plain reports whether an item is a file that is kept as it is.
func (it *Item) Plain() bool { return it.Info.Mode().IsRegular() && it.Kind != "" }

// IsBelow reports whether a path is that of a folder or of what is in it, whatever links lead there.
func (t *Targets) IsBelow(path_, folder string) bool {
	inner, outer := filepath.ToSlash(t.Place(filepath.Join(path_, "x"))), filepath.ToSlash(t.Place(filepath.Join(folder, "x")))
	inner, outer = path.Dir(inner), path.Dir(outer)
	return inner == outer || strings.HasPrefix(inner, strings.TrimSuffix(outer, "/")+"/")
}

// ShowsAs returns the name of a file of a tree for messages.
func (w *Whole) ShowsAs(rel string) string { return terminal.ShowName(w.Name(rel)) }
