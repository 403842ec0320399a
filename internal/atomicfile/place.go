package atomicfile

import (
	"errors"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/cdfz-format/cdfz/internal/access"
	"github.com/cdfz-format/cdfz/internal/nofollow"
)

// place is the folder of a target. It is held open: names are looked up in this folder,
// whatever its path leads to meanwhile.
type place struct {
	lookup
	path  string   // as messages show it
	f     *os.File // the folder itself; nil if it cannot be read
	close func()   // nil for nothing
}

// lookup are the operations on names of a folder.
type lookup interface {
	Lstat(name string) (fs.FileInfo, error)
	OpenFile(name string, flag int, perm fs.FileMode) (*os.File, error)
	Mkdir(name string, perm fs.FileMode) error
	Rename(from, to string) error
	Link(from, to string) error
	Remove(name string) error
	Chtimes(name string, atime, mtime time.Time) error
}

var (
	_ lookup = (*os.Root)(nil)
	_ lookup = unreadable("")
)

// unreadable is a folder in which files can be made but not listed. It cannot be held open:
// names are looked up by its path.
type unreadable string

func (u unreadable) in(name string) string { return string(u) + string(filepath.Separator) + name }

func (u unreadable) Lstat(name string) (fs.FileInfo, error) { return os.Lstat(u.in(name)) }
func (u unreadable) OpenFile(name string, flag int, perm fs.FileMode) (*os.File, error) {
	return os.OpenFile(u.in(name), flag, perm)
}
func (u unreadable) Mkdir(name string, perm fs.FileMode) error { return os.Mkdir(u.in(name), perm) }
func (u unreadable) Rename(from, to string) error              { return os.Rename(u.in(from), u.in(to)) }
func (u unreadable) Link(from, to string) error                { return os.Link(u.in(from), u.in(to)) }
func (u unreadable) Remove(name string) error                  { return os.Remove(u.in(name)) }
func (u unreadable) Chtimes(name string, atime, mtime time.Time) error {
	return os.Chtimes(u.in(name), atime, mtime)
}

// openPlace opens the folder at a path.
func openPlace(path string) (*place, error) {
	root, err := os.OpenRoot(path)
	if errors.Is(err, fs.ErrPermission) {
		if st, err := os.Stat(path); err == nil && st.IsDir() {
			return &place{lookup: unreadable(path), path: path}, nil
		}
	}
	if err != nil {
		return nil, err
	}
	return placeOf(root)
}

// placeOf makes a place of an open folder, which it closes.
func placeOf(root *os.Root) (*place, error) {
	f, err := root.Open(".")
	if err != nil {
		root.Close()
		return nil, err
	}
	return &place{lookup: root, path: filepath.Clean(root.Name()), f: f, close: func() { f.Close(); root.Close() }}, nil
}

// kept is the folder of the last target, for the next one.
var kept struct {
	sync.Mutex
	users int
	below *nofollow.Folders // nil without users
}

// KeepFolders keeps the folder of the last target open, since the next one is often in it, too.
// The caller must call done after the last target, once.
func KeepFolders() (done func()) {
	kept.Lock()
	defer kept.Unlock()
	kept.users++
	return func() {
		kept.Lock()
		defer kept.Unlock()
		if kept.users--; kept.users == 0 {
			keep(nil)
		}
	}
}

// keep changes Options.Root of the folder that is kept. The caller has locked kept.
func keep(root *os.Root) {
	if kept.below != nil {
		kept.below.Close()
		kept.below = nil
	}
	if root != nil {
		kept.below = &nofollow.Folders{Root: root}
	}
}

// placeBelow opens a folder below Options.Root without following links.
func placeBelow(root *os.Root, rel string) (*place, error) {
	kept.Lock()
	if kept.users > 0 && (kept.below == nil || kept.below.Root != root) {
		keep(root)
	}
	below := kept.below
	kept.Unlock()
	if below == nil {
		below = &nofollow.Folders{Root: root}
		defer below.Close()
	}
	s, err := below.Open(rel)
	if err != nil {
		return nil, err
	}
	f, err := s.Dir()
	if err != nil {
		s.Close()
		return nil, err
	}
	return &place{lookup: s, path: filepath.Clean(s.Name()), f: f, close: func() { s.Close() }}, nil
}

// Close closes the folder.
func (p *place) Close() {
	if p.close != nil {
		p.close()
	}
}

// join returns the path of a name, for messages.
func (p *place) join(name string) string { return filepath.Join(p.path, name) }

// OpenBase opens the last folder of a path that exists and that Create will not remove again. It
// returns the rest of the path, or ".".
func OpenBase(path string) (base *os.Root, rest string, err error) {
	made.Lock()
	defer made.Unlock()
	rest = "."
	for dir := path; ; {
		err = fs.ErrNotExist
		if !beingMade(dir) {
			base, err = os.OpenRoot(dir)
		}
		parent := filepath.Dir(filepath.Clean(dir))
		if err == nil || !errors.Is(err, fs.ErrNotExist) || parent == dir {
			return base, rest, err
		}
		rest = filepath.Join(filepath.Base(dir), rest)
		dir = parent
	}
}

// made holds the folders that this process has made and that have no finished file yet, with
// the number of unfinished files that need them.
var made = struct {
	sync.Mutex
	uses    map[string]int
	removed int // number of those that were removed
}{uses: map[string]int{}}

// madeKey returns the key in made of a folder below another one.
func madeKey(root *os.Root, rel string) string { return filepath.Join(root.Name(), rel) }

// below opens a folder below another one, without following links. Missing folders are made if
// makes is set. It returns the ones made, outermost first. The caller must pass them to keepDirs
// or removeDirs. rights, if not nil, sets their rights.
func below(root *os.Root, rel string, makes bool, rights func(rel string) func(f *os.File)) (*place, []string, error) {
	rel = filepath.Clean(rel)
	if p, err := existing(root, rel, makes); err == nil || !makes || !errors.Is(err, fs.ErrNotExist) {
		return p, nil, err
	}
	made.Lock()
	defer made.Unlock()
	var dirs []string
	at, err := root.OpenRoot(".")
	for path := range pathsTo(rel) {
		if err != nil {
			break
		}
		var next *os.Root
		part, key := filepath.Base(path), madeKey(root, path)
		next, err = nofollow.Folder(at, part)
		if errors.Is(err, fs.ErrNotExist) {
			mode := fs.FileMode(0o777)
			var set func(f *os.File)
			if rights != nil {
				set = rights(path)
			}
			if set != nil {
				mode = access.PrivateFolder
			}
			fresh := false
			if err = at.Mkdir(part, mode); err == nil {
				made.uses[key] = 0
				fresh = true
			}
			if err == nil || errors.Is(err, fs.ErrExist) {
				next, err = nofollow.Folder(at, part)
			}
			if err == nil && fresh && set != nil {
				err = setFolderRights(next, set)
			}
		}
		if _, ok := made.uses[key]; ok {
			made.uses[key]++
			dirs = append(dirs, path)
		}
		at.Close()
		at = next
	}
	var p *place
	if err == nil {
		p, err = placeOf(at)
	}
	if err != nil {
		release(root, dirs)
		return nil, nil, err
	}
	return p, dirs, nil
}

// setFolderRights sets the rights of a new folder. It closes the folder after an error.
func setFolderRights(dir *os.Root, set func(f *os.File)) error {
	f, err := dir.Open(".")
	if err != nil {
		dir.Close()
		return err
	}
	defer f.Close()
	set(f)
	return nil
}

// existing opens a folder below another one. If makes is set, folders that may be removed again
// count as missing.
func existing(root *os.Root, rel string, makes bool) (*place, error) {
	stays := func() (removed int, stays bool) {
		made.Lock()
		defer made.Unlock()
		return made.removed, !makes || !beingMade(madeKey(root, rel))
	}
	before, ok := stays()
	if !ok {
		return nil, fs.ErrNotExist
	}
	p, err := placeBelow(root, rel)
	if err != nil {
		return nil, err
	}
	if after, ok := stays(); !ok || makes && after != before {
		p.Close()
		return nil, fs.ErrNotExist
	}
	return p, nil
}

// pathsTo returns the folders of a relative path, as in "a", "a/b", "a/b/c".
func pathsTo(rel string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for i := range len(rel) {
			if rel[i] == filepath.Separator && !yield(rel[:i]) {
				return
			}
		}
		yield(rel)
	}
}

// beingMade reports whether a folder, or one above it, may be removed again. The caller has locked
// made.
func beingMade(path string) bool {
	if len(made.uses) == 0 {
		return false
	}
	for path = filepath.Clean(path); ; path = filepath.Dir(path) {
		if _, ok := made.uses[path]; ok {
			return true
		}
		if path == filepath.Dir(path) {
			return false
		}
	}
}

// keepDirs makes folders stay.
func keepDirs(root *os.Root, dirs []string) {
	if len(dirs) == 0 {
		return
	}
	made.Lock()
	defer made.Unlock()
	for _, d := range dirs {
		delete(made.uses, madeKey(root, d))
	}
}

// removeDirs removes folders that no other file needs.
func removeDirs(root *os.Root, dirs []string) {
	if len(dirs) == 0 {
		return
	}
	made.Lock()
	defer made.Unlock()
	release(root, dirs)
}

func release(root *os.Root, dirs []string) {
	for _, d := range slices.Backward(dirs) {
		key := madeKey(root, d)
		n, ok := made.uses[key]
		if !ok {
			continue // a finished file is in it
		}
		if n > 1 {
			made.uses[key] = n - 1
			continue
		}
		delete(made.uses, key)
		made.removed++
		if in, err := nofollow.Folder(root, filepath.Dir(d)); err == nil {
			removeDir(in, filepath.Base(d)) // fails if in use by another program
			in.Close()
		}
	}
}

// syncDirs writes the names of new folders to disk.
func syncDirs(root *os.Root, dirs []string) {
	for _, d := range dirs {
		if in, err := nofollow.Folder(root, filepath.Dir(d)); err == nil {
			_ = SyncRoot(in)
			in.Close()
		}
	}
}
