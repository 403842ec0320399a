package fileio

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/cdfz-format/cdfz/archive/volume"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/treefile"
	"github.com/cdfz-format/cdfz/internal/s3"
	"github.com/cdfz-format/cdfz/internal/urls"
	"github.com/cdfz-format/cdfz/remote"
)

// TreeOf is the tree that a folder or a prefix is, or is a part of.
type TreeOf struct {
	Tree   *treefile.Tree
	Folder string // that has the tree file
	Below  string // path of the FILE below it, with slashes, or "."

	file    string          // the FILE
	volumes bool            // the tree is in volumes
	in      []string        // the paths or URLs of these
	members map[string]bool // of one volume of several, by path; nil for all others
	// oneOfSeveral is set if the FILE is one volume, beside which others may hold the rest.
	oneOfSeveral bool
	// links are the names of the current states of links and further names in volumes, by path.
	links map[string]string
}

// FindTree finds the tree of a FILE, by the tree file in it or in a folder or prefix above it, which must list it. It returns
// nil if there is none.
func FindTree(ctx context.Context, file string) (*TreeOf, error) {
	if s3.IsPrefix(file) {
		return findAbove(ctx, file)
	}
	st, err := os.Stat(file)
	if err != nil || !st.IsDir() {
		return nil, nil
	}
	abs, err := filepath.EvalSymlinks(file)
	if err == nil {
		abs, err = filepath.Abs(abs)
	}
	if err != nil {
		return nil, nil
	}
	below := "."
	for dir := abs; ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(TreePath(dir)); err == nil {
			if below == "." {
				dir = filepath.Clean(file)
			}
			t, err := ReadTree(ctx, dir)
			if err != nil {
				return nil, err
			}
			if e := t.Find(below); e == nil || e.Kind != treefile.Folder {
				return nil, nil
			}
			t.ByStored("")
			return &TreeOf{Tree: t, Folder: dir, Below: below, file: file}, nil
		}
		if dir == filepath.Dir(dir) {
			return nil, nil
		}
		below = path.Join(filepath.Base(dir), below)
	}
}

// findAbove is FindTree for a prefix. Each one above it takes a request, and the bucket is the last one.
func findAbove(ctx context.Context, file string) (*TreeOf, error) {
	for dir := file; strings.Count(dir, "/") > 2; dir = dir[:strings.LastIndexByte(dir[:len(dir)-1], '/')+1] {
		t, err := ReadTree(ctx, dir)
		switch {
		case dir != file && errors.Is(err, fs.ErrPermission):
			return nil, nil // the run may read a part of the bucket alone
		case err != nil:
			return nil, err
		case t == nil:
			continue
		}
		below := "."
		if dir != file {
			below = file[len(dir) : len(file)-1]
		}
		if e := t.Find(below); e == nil || e.Kind != treefile.Folder {
			return nil, nil
		}
		t.ByStored("")
		return &TreeOf{Tree: t, Folder: dir, Below: below, file: file}, nil
	}
	return nil, nil
}

// names reports whether a name is that of a file of the FILE.
func (t *TreeOf) names(name string) bool {
	if remote.IsURL(t.file) {
		file, _, _ := strings.Cut(t.file, "?")
		return strings.HasPrefix(name, file)
	}
	rel, err := filepath.Rel(t.file, name)
	return err == nil && filepath.IsLocal(rel)
}

// RelOf returns the path of a file of the FILE below the folder of the tree file.
func (t *TreeOf) RelOf(name string) string {
	if t.volumes {
		if t.file != t.Folder { // the FILE is the volume
			return strings.TrimPrefix(strings.TrimPrefix(name, t.file), "/")
		}
		folder := t.file
		if !remote.IsURL(folder) {
			folder = filepath.Clean(folder)
		}
		for _, member := range volume.Split(strings.TrimPrefix(name, folder)) {
			return member
		}
		return ""
	}
	if s3.IsPrefix(t.file) {
		rel := strings.TrimPrefix(name, t.file)
		if t.Below != "." {
			rel = t.Below + "/" + rel // a key is no path to be cleaned
		}
		return rel
	}
	rel, err := filepath.Rel(t.file, name)
	if err != nil {
		return ""
	}
	return path.Join(t.Below, filepath.ToSlash(rel))
}

// Has reports whether a path of the tree is in the FILE.
func (t *TreeOf) Has(p string) bool {
	return t.Below == "." || p == t.Below || strings.HasPrefix(p, t.Below+"/")
}

// Inner returns a path of the tree as one below the FILE.
func (t *TreeOf) Inner(p string) string {
	if t.Below == "." {
		return p
	}
	if p == t.Below {
		return "."
	}
	return strings.TrimPrefix(p, t.Below+"/")
}

// NameOf returns the name of a path of the tree as one of a file of the FILE.
func (t *TreeOf) NameOf(p string) string { return urls.Below(t.file, t.Inner(p)) }

// StoredAt returns the path or the URL of what holds the content of an entry. In volumes, that is known of a further name
// alone.
func (t *TreeOf) StoredAt(e *treefile.Entry) string {
	if name, known := t.links[e.Path]; known {
		return name
	}
	return urls.Below(t.Folder, t.Tree.Linked(e).Stored())
}

// Trees are the trees of several FILEs.
type Trees []*TreeOf

// IsPart reports whether the FILE is a volume that may hold a part of the tree alone.
func (t *TreeOf) IsPart() bool { return t.oneOfSeveral }

// Link is a symbolic link of a tree, or a further name of a file, as listings have it.
type Link struct {
	Name string // as one below the FILE
	Kind string // link or hard link
	*treefile.Entry
	Size   int64 // of the file of a further name
	SHA256 string
}

// Links returns the symbolic links of trees, and further names of files that were kept as they are. In a store, archives
// have further names, too. chooses reports whether the run looks at a path below its FILE.
func (t Trees) Links(chooses func(rel string) bool) (list []Link) {
	for _, of := range t {
		for i := range of.Tree.Entries() {
			e := &of.Tree.Entries()[i]
			if e.Kind != treefile.Link && e.Kind != treefile.HardLink || !of.Has(e.Path) || !chooses(of.Inner(e.Path)) {
				continue
			}
			name, known := of.links[e.Path]
			switch first := of.Tree.Linked(e); {
			case e.Kind == treefile.Link:
				if !known {
					name = of.NameOf(e.Placed())
				}
				list = append(list, Link{Name: name, Kind: "link", Entry: e})
			case first.Kind == treefile.Plain || remote.IsURL(of.Folder) && !of.volumes:
				if !known {
					name = of.NameOf(e.Path)
				}
				list = append(list, Link{Name: name, Kind: "hard link", Entry: e, Size: first.Size, SHA256: first.SHA256})
			}
		}
	}
	return list
}

// Entry returns the entry of the file with a name, or nil.
func (t Trees) Entry(name string) *treefile.Entry {
	for _, e := range t.Entries(name) {
		return e
	}
	return nil
}

// Entries returns the entries of the file with a name: a FILE may be a part of another one.
func (t Trees) Entries(name string) (list []*treefile.Entry) {
	for _, of := range t {
		if of.names(name) {
			if e := of.Tree.ByStored(of.RelOf(name)); e != nil {
				list = append(list, e)
			}
		}
	}
	return list
}
