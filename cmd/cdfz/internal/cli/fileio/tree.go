package fileio

import (
	"context"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/cdfz-format/cdfz/archive/volume"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
	"github.com/cdfz-format/cdfz/internal/atomicfile"
	"github.com/cdfz-format/cdfz/internal/nofollow"
)

// tree is a FILE argument that is a folder. Files below it are opened, made and removed through
// the descriptors of their folders, and symbolic links below it are not followed, so that
// another program that renames folders meanwhile cannot lead outside.
type tree struct {
	path string            // with a separator at the end
	st   fs.FileInfo       // of the folder
	open *nofollow.Folders // nil if it was not kept open
}

// keptOpen is the number of trees that stay open during a run. Others are opened again for each
// file.
const keptOpen = 64

// openTree opens a folder. A link to one is followed, since the user named it.
func openTree(path string) (*tree, error) {
	if !os.IsPathSeparator(path[len(path)-1]) {
		path += string(filepath.Separator)
	}
	t := &tree{path: path}
	root, err := os.OpenRoot(path)
	if err != nil {
		return t, err
	}
	if t.st, err = root.Stat("."); err != nil {
		root.Close()
		return t, err
	}
	t.open = &nofollow.Folders{Root: root}
	return t, nil
}

// close closes the folder.
func (t *tree) close() {
	if t.open != nil {
		t.open.Close()
		t.open.Root.Close()
		t.open = nil
	}
}

// name returns the path of a file or folder below the tree.
func (t *tree) name(rel string) string {
	if rel == "." {
		return t.path
	}
	name := filepath.Join(t.path, rel)
	if name == terminal.StdinName { // a file below "."
		name = "." + string(filepath.Separator) + name
	}
	return name
}

// folder opens a folder below the tree. The caller must close it.
func (t *tree) folder(rel string) (*nofollow.Shared, error) {
	open := t.open
	if open == nil {
		again, err := openTree(t.path)
		if err != nil {
			return nil, err
		}
		defer again.close()
		if !os.SameFile(t.st, again.st) {
			return nil, &fs.PathError{Op: "open", Path: t.path, Err: nofollow.ErrReplaced}
		}
		open = again.open
	}
	return open.Open(rel)
}

// Entry is a file below a folder.
type Entry struct {
	Name string   // its path, or the URL of an object
	In   *os.Root // its folder, nil for an object

	object context.Context // for reading an object or a member
	member *File           // of a volume
	inputs *Inputs         // to open that
	size   int64           // of an object in bytes
}

// Open opens the file for reading.
func (e Entry) Open() (Content, error) {
	if e.member != nil {
		in, err := e.inputs.openMember(e.object, *e.member)
		if err != nil {
			return nil, err
		}
		return memberContent{io.NewSectionReader(in.R, 0, in.Size), in}, nil
	}
	if e.In == nil {
		return openObject(e.object, e.Name, e.size)
	}
	f, _, err := nofollow.File(e.In, filepath.Base(e.Name), os.O_RDONLY)
	if err != nil {
		return nil, err // not a Content that is nil
	}
	return f, nil
}

// memberContent is an open member.
type memberContent struct {
	*io.SectionReader
	io.Closer
}

// found is what a folder of a tree has.
type found struct {
	rel      string // path below the tree
	folder   bool
	volume   bool // it may be one, by its name
	others   bool // it is of another shard
	size     int64
	modified time.Time
	reason   string // to skip it
	err      error
}

// list lists a folder of the tree by name. stop ends it. With takesBack, files that a killed
// program was removing get their names again. Files that are not selected are not opened, and those
// of other shards are left out.
func (t *tree) list(rel string, pred Pred, s *Selection, takesBack bool, stop func() bool) ([]found, error) {
	in, err := t.folder(rel)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	dir, err := in.Root.Open(".")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	entries, err := dir.ReadDir(-1)
	if err != nil {
		return nil, err
	}
	var list []found
	for _, d := range entries {
		if stop() {
			break
		}
		base := d.Name()
		if takesBack && atomicfile.IsAside(base) && d.Type().IsRegular() {
			if name, ok := atomicfile.PutBack(in.Root, base); ok {
				if base = name; base == "" {
					continue // it was removed
				}
			}
		}
		f := found{rel: filepath.Join(rel, base), folder: d.IsDir()}
		// Shards and rules choose members, not volumes.
		f.volume = filepath.Ext(base) == volume.Suffix && notAFile(d, base) == ""
		f.others = !f.folder && !s.takes(f.rel)
		if f.others && !f.volume {
			continue
		}
		f.reason = s.excluded(f.rel, f.folder)
		if !f.folder && !f.others && f.reason == "" {
			if f.reason = notAFile(d, base); f.reason == "" {
				f.reason, f.err = pred(Entry{Name: t.name(f.rel), In: in.Root})
			}
			if st, err := d.Info(); err == nil {
				f.size, f.modified = st.Size(), st.ModTime()
			}
		}
		list = append(list, f)
	}
	slices.SortFunc(list, func(a, b found) int { return strings.Compare(a.rel, b.rel) })
	return list, nil
}
