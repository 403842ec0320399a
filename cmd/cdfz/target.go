package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"sync"
)

var (
	errExists = errors.New("target exists")
	errSame   = errors.New("target and source are the same file")
	errTwice  = errors.New("another FILE of this command has the same target")
)

// tmpMark is in the names of temporary files: .NAME.cdfz-tmp and more.
const tmpMark = ".cdfz-tmp"

// target is a file that is being written. It appears complete, by commit, or
// not at all.
//
// Where the system can, the file has no name until then, so that nothing is left
// behind whatever ends the program. Elsewhere it has a temporary name and a lock;
// a later run with the same target removes what it can lock.
type target struct {
	f     *os.File
	path  string
	tmp   string // its name until commit, "" if it has none
	force bool
	perm  fs.FileMode // set at commit
	chmod bool
	dirs  []string // folders made for it, outermost first
	done  bool

	size, flushed int64 // bytes written, and of these asked to go to the disk
}

// create starts a target. src may be nil.
func (a *app) create(path string, src *input) (*target, error) {
	catchStop()
	t := &target{path: path, force: a.force}
	if src != nil {
		t.perm, t.chmod = src.mode()
	}
	if err := t.checkFree(src); err != nil {
		return nil, err
	}
	if a.targets[filepath.Clean(path)] {
		return nil, fmt.Errorf("%s: %w", path, errTwice)
	}
	dir, base := filepath.Split(path)
	if dir == "" {
		dir = "."
	}
	if a.isDirDest() {
		if err := t.makeDirs(filepath.Clean(dir)); err != nil {
			return nil, err
		}
	}
	if dir = filepath.Clean(dir); !a.cleaned[dir] {
		a.cleaned[dir] = true
		removeStale(dir)
	}
	var err error
	if t.f, err = openUnnamed(dir, path); err != nil {
		mode := fs.FileMode(0o666)
		if t.chmod {
			mode = 0o600 // what is private stays so while it is written
		}
		t.f, t.tmp, err = openLocked(dir, base, mode)
	}
	if err != nil {
		t.removeDirs()
		return nil, fmt.Errorf("cannot write in folder %s: %w", dir, cause(err))
	}
	a.targets[filepath.Clean(path)] = true
	return t, nil
}

// cause is what the system said, without the name of a temporary file.
func cause(err error) error {
	var p *fs.PathError
	var l *os.LinkError
	switch {
	case errors.As(err, &p):
		return p.Err
	case errors.As(err, &l):
		return l.Err
	}
	return err
}

// checkFree says whether the target may be made.
func (t *target) checkFree(src *input) error {
	lst, err := os.Lstat(t.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	st, err := os.Stat(t.path)
	if err != nil {
		st = lst // a link to nowhere
	}
	switch {
	case src != nil && src.stat != nil && os.SameFile(st, src.stat):
		return fmt.Errorf("%s: %w", t.path, errSame)
	case st.IsDir():
		return hinted(fmt.Errorf("target %s is a folder", t.path), "-o %s%c puts the target in it", t.path, filepath.Separator)
	case !t.force:
		return hinted(fmt.Errorf("%s: %w", t.path, errExists), "-f overwrites it")
	case !st.Mode().IsRegular() && lst.Mode()&fs.ModeSymlink == 0:
		return hinted(fmt.Errorf("target %s is not a regular file", t.path), "-o - writes to standard output")
	}
	return nil
}

// makeDirs makes the folders that are missing, for trees below -o DIR/.
func (t *target) makeDirs(dir string) error {
	var missing []string
	for d := dir; ; d = filepath.Dir(d) {
		if _, err := os.Stat(d); !errors.Is(err, fs.ErrNotExist) || d == filepath.Dir(d) {
			break
		}
		missing = append(missing, d)
	}
	for i := len(missing) - 1; i >= 0; i-- {
		if err := os.Mkdir(missing[i], 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
			t.removeDirs()
			return err
		}
		t.dirs = append(t.dirs, missing[i])
	}
	return nil
}

// removeDirs removes the folders that were made, as far as they are empty.
func (t *target) removeDirs() {
	for i := len(t.dirs) - 1; i >= 0; i-- {
		os.Remove(t.dirs[i])
	}
}

// flushChunk is how many bytes are written before the system is asked to bring
// them to the disk: it then works beside us, and the sync at the end is short.
const flushChunk = 16 << 20

// Write appends.
func (t *target) Write(p []byte) (int, error) {
	n, err := t.f.Write(p)
	if err != nil {
		err = fmt.Errorf("%s: %w", t.path, cause(err))
	}
	if t.size += int64(n); t.size-t.flushed >= flushChunk {
		startFlush(t.f, t.flushed, t.size-t.flushed)
		t.flushed = t.size
	}
	return n, err
}

var _ io.Writer = (*target)(nil)

// commit makes the target appear, with all its bytes on the disk.
func (t *target) commit() error {
	if err := t.appear(); err != nil {
		t.abort()
		if errors.Is(err, fs.ErrExist) {
			return hinted(fmt.Errorf("%s: %w", t.path, errExists), "-f overwrites it")
		}
		return fmt.Errorf("%s: %w", t.path, cause(err))
	}
	t.done = true
	return nil
}

func (t *target) appear() error {
	if t.chmod {
		// Some file systems have no such bits; the file is then as it was made.
		_ = t.f.Chmod(t.perm)
	}
	if err := t.f.Sync(); err != nil {
		return err
	}
	dir, base := filepath.Split(t.path)
	if t.tmp == "" {
		err := nameUnnamed(t.f, t.path)
		if err == nil {
			t.settle(dir)
		}
		if err == nil || !t.force || !errors.Is(err, fs.ErrExist) {
			return err
		}
		// A file cannot be linked over another: give it a name, then rename.
		for {
			t.tmp = tmpPath(dir, base)
			err := nameUnnamed(t.f, t.tmp)
			if err == nil {
				break
			}
			t.tmp = ""
			if !errors.Is(err, fs.ErrExist) {
				return err
			}
		}
	}
	var err error
	if t.force {
		err = renameOpen(t.f, t.tmp, t.path)
	} else {
		err = renameNew(t.f, t.tmp, t.path)
	}
	if err == nil {
		t.tmp = ""
		t.settle(dir)
	}
	return err
}

// settle closes the file and writes its new name to the disk.
func (t *target) settle(dir string) {
	t.f.Close() // synced before; some systems renamed it closed
	syncDir(filepath.Clean(dir))
}

// abort leaves nothing behind. It does nothing after commit.
func (t *target) abort() {
	if t.done {
		return
	}
	t.done = true
	if t.tmp != "" && removesOpen {
		os.Remove(t.tmp)
	}
	t.f.Close()
	if t.tmp != "" && !removesOpen {
		os.Remove(t.tmp)
	}
	t.removeDirs()
}

// tmpPath is a new temporary name for a target.
func tmpPath(dir, base string) string {
	// 255 bytes is the longest name of most file systems.
	if len(base) > 220 {
		base = base[:220]
	}
	return filepath.Join(dir, fmt.Sprintf(".%s%s%08x", base, tmpMark, rand.Uint32()))
}

var tmpPattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\..*` + regexp.QuoteMeta(tmpMark) + `[0-9a-f]{8}$`)
})

// openLocked makes a temporary file with a name and locks it.
func openLocked(dir, base string, mode fs.FileMode) (*os.File, string, error) {
	for range 100 {
		name := tmpPath(dir, base)
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return nil, "", err
		}
		// Another run may have locked and removed the file before we locked it.
		if tryLock(f) {
			if now, err := os.Stat(name); err == nil {
				if st, err := f.Stat(); err == nil && os.SameFile(st, now) {
					return f, name, nil
				}
			}
		}
		f.Close()
		os.Remove(name)
	}
	return nil, "", errors.New("no temporary name is free")
}

// removeStale removes the temporary files in a folder that runs left when they
// were killed: those that nobody has locked.
func removeStale(dir string) {
	d, err := os.Open(dir)
	if err != nil {
		return
	}
	defer d.Close()
	for {
		names, err := d.Readdirnames(1000)
		for _, n := range names {
			if tmpPattern().MatchString(n) {
				removeUnlocked(filepath.Join(dir, n))
			}
		}
		if err != nil {
			return
		}
	}
}

func removeUnlocked(name string) {
	st, err := os.Lstat(name)
	if err != nil || !st.Mode().IsRegular() {
		return
	}
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return
	}
	stale := tryLock(f)
	if stale && removesOpen {
		os.Remove(name)
	}
	f.Close()
	if stale && !removesOpen {
		os.Remove(name)
	}
}
