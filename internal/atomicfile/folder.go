package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cdfz-format/cdfz/internal/access"
)

// hiddenFolder is a folder that appears complete or not at all. Until Commit it is inside a
// locked, hidden folder next to its target. A later program with the same target removes
// the hidden folders of programs that were killed.
type hiddenFolder struct {
	path, hidden string
	lock         *os.File
	may          func(path string) bool // judges the folder to replace once more; nil: it may be replaced
	keep         bool                   // hidden holds the only copy of the folder to replace
}

// The names in a hidden folder.
const (
	folderNew  = "new"
	folderOld  = "old" // the folder that is replaced
	folderLock = "lock"
)

// checkFolder reports whether a new folder at path would replace an existing one. The error is
// fs.ErrExist if may forbids that.
func checkFolder(path string, may func(path string) bool) (replaces bool, err error) {
	switch _, err := os.Lstat(path); {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	case !may(path):
		return false, &fs.PathError{Op: "create", Path: path, Err: fs.ErrExist}
	}
	return true, nil
}

// WriteFolder makes a folder at path, which appears complete and on disk or not at all. write
// puts files into it, and its error is returned. The error is fs.ErrExist if something exists at
// path that may forbids to replace. A folder that is replaced is deleted with all that is in it, so
// may should judge all of it: see [HoldsOnly]. rights, if not nil, is called for the complete folder and all
// files and folders in it. Until then only its owner may use it.
func WriteFolder(path string, may func(path string) bool, rights func(f *os.File), write func(root *os.Root) error) error {
	if _, err := checkFolder(path, may); err != nil {
		return err
	}
	f, err := createFolder(path)
	if err != nil {
		return err
	}
	defer f.Close()
	f.may = may
	root, err := os.OpenRoot(f.Dir())
	if err != nil {
		return err
	}
	defer root.Close()
	if err := write(root); err != nil {
		return err
	}
	if rights != nil {
		if err := setTree(root, rights); err != nil {
			return err
		}
	}
	// A killed program's folder may be back in its place since the first look.
	replaces, err := checkFolder(path, may)
	if err != nil {
		return err
	}
	return f.Commit(replaces)
}

// setTree calls rights for all files and folders of a folder, and for itself last.
func setTree(root *os.Root, rights func(f *os.File)) error {
	var folders []string
	set := func(path string) error {
		f, err := root.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		rights(f)
		return nil
	}
	err := fs.WalkDir(root.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			folders = append(folders, path)
			return nil
		}
		return set(filepath.FromSlash(path))
	})
	for _, path := range slices.Backward(folders) { // they may become read-only for this process, too
		if err == nil {
			err = set(filepath.FromSlash(path))
		}
	}
	return err
}

// HoldsOnly reports whether a folder has no other files than regular ones that known recognizes by
// their paths in it, which have slashes. Symbolic links are other files.
func HoldsOnly(dir string, known func(path string) bool) bool {
	return fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && (!d.Type().IsRegular() || !known(path)) {
			err = fs.ErrExist
		}
		return err
	}) == nil
}

// createFolder begins a folder at path. The caller must call Close.
func createFolder(path string) (*hiddenFolder, error) {
	path = filepath.Clean(path)
	dir, base := filepath.Split(path)
	restoreFolders(filepath.Clean(dir), base)
	for range 100 {
		f := &hiddenFolder{path: path, hidden: filepath.Join(dir, tmpName(base))}
		err := os.Mkdir(f.hidden, access.PrivateFolder)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		name := filepath.Join(f.hidden, folderLock)
		if f.lock, err = os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, access.PrivateFile); err == nil {
			// Between open and lock, another process may have removed it.
			if err = sys.lock(f.lock); !errors.Is(err, ErrLocked) && isNamed(f.lock, os.Stat, name) {
				if err = os.Mkdir(f.Dir(), 0o777); err == nil {
					return f, nil
				}
			}
			f.lock.Close()
		}
		os.RemoveAll(f.hidden)
		if err != nil && !errors.Is(err, ErrLocked) && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	return nil, errors.New("no temporary name is free")
}

// Dir returns the folder as long as it is hidden.
func (f *hiddenFolder) Dir() string { return filepath.Join(f.hidden, folderNew) }

// Commit flushes the files of the folder to disk and renames it to its final name. With
// replace, it replaces an existing folder of that name.
func (f *hiddenFolder) Commit(replace bool) error {
	if err := syncTree(f.Dir()); err != nil {
		return err
	}
	old := filepath.Join(f.hidden, folderOld)
	if replace {
		if err := sys.renameFolder(f.path, old); err != nil {
			return err
		}
	}
	var err error
	if replace && f.may != nil && !f.may(old) { // a file was put into it meanwhile
		err = &fs.PathError{Op: "create", Path: f.path, Err: fs.ErrExist}
	} else {
		err = sys.renameFolder(f.Dir(), f.path)
	}
	if err != nil {
		if replace {
			if back := sys.renameFolder(old, f.path); back != nil {
				f.keep = true
				err = errors.Join(err, fmt.Errorf("the folder to replace is now %s: %w", old, back))
			}
		}
		return err
	}
	return SyncDir(filepath.Dir(f.path))
}

// Close removes the hidden folder, unless a failed Commit left the replaced folder in it. The
// next program with the same target puts that one back.
func (f *hiddenFolder) Close() error {
	f.lock.Close()
	if f.keep {
		return nil
	}
	return os.RemoveAll(f.hidden)
}

// restoreFolders removes the hidden folders of killed programs with this target. If a program
// was killed while it replaced the target, its hidden folder has the replaced folder, which is
// put back.
func restoreFolders(dir, base string) {
	list, _ := filepath.Glob(filepath.Join(globQuote(dir), globQuote("."+shortBase(base)+tmpMark)+"????????"))
	for _, hidden := range list {
		if !IsTemporary(hidden) {
			continue
		}
		lock, err := os.OpenFile(filepath.Join(hidden, folderLock), os.O_RDWR, 0)
		if err != nil {
			continue
		}
		// Where there are no locks, it may be in use.
		if sys.lock(lock) == nil {
			path := filepath.Join(dir, base)
			if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
				_ = os.Rename(filepath.Join(hidden, folderOld), path)
			}
			os.RemoveAll(hidden)
		}
		lock.Close()
	}
}

// globQuote returns a pattern of filepath.Glob for a name.
func globQuote(name string) string {
	if filepath.Separator != '/' {
		return name // Windows has no escapes, and no such names
	}
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(name)
}
