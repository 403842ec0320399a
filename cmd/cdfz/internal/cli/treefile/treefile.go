// Package treefile has the tree file of a folder of archives (docs/trees.md): a line of JSON for each file, folder and
// link of the tree that was archived there, with all that the folder's own file system may not hold.
//
//	{"cdfz_tree":1}
//	{"path":".","kind":"folder","mode":"0755","mtime":"…","uid":0,"gid":0,"user":"root","group":"root"}
//	{"path":"a.nc","kind":"archive","mode":"0644",…,"size":…,"sha256":"…"}
//	{"path":"b.nc","kind":"hardlink","to":"a.nc"}
//	{"path":"notes.txt","kind":"plain","mode":"0640",…,"size":…,"sha256":"…"}
//	{"end":{"entries":4,"sha256":"…"}}
//
//	treefile.go  entries, and the tree that they make
//	merge.go     what a later run makes of a tree
//	line.go      a line: an entry as JSON
//	read.go      the file to a tree, and back
package treefile

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"
)

// Name is the name of the tree file, in the folder of archives.
const Name = ".cdfz-tree"

// Suffix is the ending that archives add to the names of their images.
const Suffix = ".cdfz"

// Kind is the kind of an entry.
type Kind string

// The kinds. They are part of the format.
const (
	Folder   Kind = "folder"
	Archive  Kind = "archive"  // a file of which there is an archive
	Plain    Kind = "plain"    // a file that is kept as it is
	Link     Kind = "link"     // a symbolic link
	HardLink Kind = "hardlink" // a further name of an archive or a plain file
)

// Entry is a file, a folder or a link of a tree. Times, modes and owners are those of the tree that was archived. Paths
// are any bytes but zero, relative to the tree, with slashes.
type Entry struct {
	Path string
	Kind Kind
	// At is the path of what holds the file or the link, below the folder of the tree file, if it is another than
	// [Entry.Stored] or [Entry.Placed] would be without it.
	At string
	// To is what a symbolic link has, or the path of the entry of which a hard link is another name.
	To string

	Mode     fs.FileMode // permissions, ModeSetuid, ModeSetgid and ModeSticky
	Modified time.Time
	UID, GID uint32
	User     string // "" if the number had no name
	Group    string
	Xattrs   map[string][]byte // extended attributes, ACLs included

	Size   int64  // of the file in bytes
	SHA256 string // in hexadecimal; "" while its run has not come to it
	// Emptied is set for a folder whose files were to be deleted: its time is that before the first one was.
	Emptied bool
}

// Stored returns the path of what holds the content of an entry, below the folder of the tree file. It is "" for others
// than archives and plain files.
func (e *Entry) Stored() string {
	switch {
	case e.Kind != Archive && e.Kind != Plain:
		return ""
	case e.At != "":
		return e.At
	case e.Kind == Archive:
		return e.Path + Suffix
	}
	return e.Path
}

// Placed returns the path that a symbolic link has below the folder of the tree file, where that can have links.
func (e *Entry) Placed() string {
	if e.At != "" {
		return e.At
	}
	return e.Path
}

// Tree are the entries of a tree by path, folders before what is in them. The zero value is empty. It must not be
// changed while others use it.
type Tree struct {
	entries []Entry
	stored  map[string]int // made by ByStored
}

// Entries returns the entries in order. They must not be changed.
func (t *Tree) Entries() []Entry {
	if t == nil {
		return nil
	}
	return t.entries
}

// Find returns the entry of a path, or nil. t may be nil.
func (t *Tree) Find(path string) *Entry {
	if t == nil {
		return nil
	}
	i, ok := slices.BinarySearchFunc(t.entries, path, func(e Entry, path string) int { return cmp.Compare(e.Path, path) })
	if !ok {
		return nil
	}
	return &t.entries[i]
}

// ByStored returns the entry whose content a path below the folder of the tree file holds, or nil. It must be called
// once before several goroutines call it. t may be nil.
func (t *Tree) ByStored(path string) *Entry {
	if t == nil {
		return nil
	}
	if t.stored == nil {
		t.stored = make(map[string]int, len(t.entries))
		for i := range t.entries {
			if at := t.entries[i].Stored(); at != "" {
				t.stored[at] = i
			}
		}
	}
	if i, ok := t.stored[path]; ok {
		return &t.entries[i]
	}
	return nil
}

// Linked follows a hard link to its file. It returns other entries, and nil, as they are.
func (t *Tree) Linked(e *Entry) *Entry {
	if e != nil && e.Kind == HardLink {
		return t.Find(e.To)
	}
	return e
}

// New makes a tree of entries, which it sorts. It fails if they are not those of a tree.
func New(entries []Entry) (*Tree, error) {
	slices.SortFunc(entries, func(a, b Entry) int { return cmp.Compare(a.Path, b.Path) })
	t := &Tree{entries: entries}
	var c checker
	for i := range entries {
		if err := c.add(&entries[i]); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// checker checks the entries of a tree in order.
type checker struct {
	last    string
	any     bool
	folders map[string]bool
	files   map[string]bool // archives and plain files
	stored  map[string]bool
}

// local reports whether a path is one of a file below a folder, in its shortest form.
func local(p string) bool {
	return p != "" && p != "." && p[0] != '/' && path.Clean(p) == p && p != ".." && !strings.HasPrefix(p, "../") && strings.IndexByte(p, 0) < 0
}

// add checks the next entry.
func (c *checker) add(e *Entry) error {
	if c.folders == nil {
		c.folders, c.files, c.stored = map[string]bool{}, map[string]bool{}, map[string]bool{}
	}
	wrong := func(format string, args ...any) error {
		return fmt.Errorf("entry %.100q: %w", e.Path, fmt.Errorf(format, args...))
	}
	root := e.Path == "." && e.Kind == Folder
	switch {
	case !root && !local(e.Path):
		return wrong("expected a path below the folder")
	case c.any && e.Path <= c.last:
		return wrong("expected a path after %.100q", c.last)
	case !root && path.Dir(e.Path) != "." && !c.folders[path.Dir(e.Path)]:
		return wrong("expected its folder before it")
	case e.Mode&^(fs.ModePerm|fs.ModeSetuid|fs.ModeSetgid|fs.ModeSticky) != 0:
		return wrong("expected a mode of 12 bits, found %v", e.Mode)
	case e.Size < 0:
		return wrong("expected a size, found %d", e.Size)
	case e.SHA256 != "" && (len(e.SHA256) != 64 || strings.Trim(e.SHA256, "0123456789abcdef") != ""):
		return wrong("expected a SHA-256, found %.100q", e.SHA256)
	case e.At != "" && (e.Kind != Archive && e.Kind != Plain && e.Kind != Link || !local(e.At)):
		return wrong("expected no other place, or one below the folder, found %.100q", e.At)
	}
	var err error
	switch e.Kind {
	case Folder:
		c.folders[e.Path] = true
	case Archive, Plain:
		at := e.Stored()
		if c.stored[at] || at == Name {
			err = errors.New("another entry has its place")
		}
		c.files[e.Path], c.stored[at] = true, true
	case Link:
		if e.To == "" || strings.IndexByte(e.To, 0) >= 0 {
			err = fmt.Errorf("expected what a symbolic link has, found %.100q", e.To)
		}
	case HardLink:
		if !c.files[e.To] {
			err = fmt.Errorf("expected a file before it, found %.100q", e.To)
		}
	default:
		err = fmt.Errorf("expected a kind of file, found %.100q", e.Kind)
	}
	if err != nil {
		return wrong("%w", err)
	}
	c.last, c.any = e.Path, true
	return nil
}
