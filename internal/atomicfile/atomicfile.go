// Package atomicfile writes files that appear complete or not at all.
//
//	f, err := atomicfile.Create("x.nc.cdfz", nil)
//	if err != nil { … }
//	defer f.Close() // discards the file unless it was committed
//	… write to f …
//	return f.Commit()
//
// On Linux the file has no name until Commit, so nothing remains however the program
// ends. Elsewhere, and on file systems without unnamed files, it has a temporary name
// and a lock. A later Create in the same folder removes temporary files that are not
// locked. On file systems without locks, the temporary file of a killed program stays
// until somebody removes it.
//
// The package also provides folders that appear complete or not at all (WriteFolder),
// unlinked temporary files (Temp), Lock, and flushes that several callers share (SyncDir,
// Flusher). Its functions are safe for concurrent use. It imports nothing of this module.
package atomicfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Errors of Create and Commit if something is in the way of the target. They are
// wrapped with the path.
var (
	ErrExists     error = existsError{} // is fs.ErrExist; only without Options.Overwrite
	ErrSame             = errors.New("target and source are the same file")
	ErrFolder           = errors.New("target is a folder")
	ErrNotRegular       = errors.New("target is not a regular file")
)

type existsError struct{}

func (existsError) Error() string        { return "target exists" }
func (existsError) Is(target error) bool { return target == fs.ErrExist }

// Options control Create. Nil and the zero value are the defaults.
type Options struct {
	// Overwrite replaces an existing file on Commit. Until then it is not touched.
	Overwrite bool
	// Source describes the file that the new one is made from, or is nil. It must not
	// be the target. Its permissions and modification time are copied, and if the
	// program runs as root also its owner.
	Source fs.FileInfo
	// Replace allows Source to be the target, which Commit then replaces.
	Replace bool
	// MakeDirs makes missing folders. Close removes those that are still empty.
	MakeDirs bool
	// Size is the expected number of bytes, if known. Large files are written without the
	// page cache where the system supports this.
	Size int64
	// Together lets Commit of a small file wait for a flush of the whole file system that serves
	// other files, too. Many files that are written at the same time take less time so.
	Together bool
}

// File is a file being written. It is not safe for concurrent use.
type File struct {
	f    *os.File
	path string
	tmp  string // name until Commit, or ""
	o    Options
	dirs []string // folders made by MakeDirs, outermost first
	vol  *volume  // flushes the file with others, or nil
	done bool
	left string

	size, flushed int64 // bytes written, and bytes that the system was told to flush

	direct  bool // writes bypass the page cache
	refused bool // such writes are not possible
}

var (
	_ io.WriteCloser = (*File)(nil)
	_ io.ReaderAt    = (*File)(nil)
)

// Create starts a file. It fails if something is in the way of the target; see the
// errors above.
func Create(path string, o *Options) (*File, error) {
	t := &File{path: path}
	if o != nil {
		t.o = *o
	}
	if err := t.checkFree(); err != nil {
		return nil, err
	}
	dir, base := filepath.Split(path)
	dir = filepath.Clean(dir) // "" becomes "."
	if t.o.MakeDirs {
		var err error
		if t.dirs, err = makeDirs(dir); err != nil {
			return nil, cannotWrite(dir, err)
		}
	}
	RemoveStale(dir)
	err := t.open(dir, base)
	if err != nil {
		removeDirs(t.dirs)
		return nil, cannotWrite(dir, err)
	}
	if t.o.Together {
		t.vol = useVolume(t.f, dir)
	}
	return t, nil
}

// open makes the file, without a name if possible.
func (t *File) open(dir, base string) (err error) {
	if t.f, err = openUnnamed(dir, t.path); err == nil {
		return nil
	}
	mode := fs.FileMode(0o666)
	if t.o.Source != nil {
		mode = 0o600 // stay private while writing
	}
	t.f, t.tmp, err = openNamed(dir, base, mode)
	return err
}

func cannotWrite(dir string, err error) error {
	return fmt.Errorf("cannot write in folder %s: %w", dir, Cause(err))
}

// checkFree checks that nothing is in the way of the target.
func (t *File) checkFree() error {
	lst, err := os.Lstat(t.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	st, err := os.Stat(t.path)
	if err != nil {
		st = lst // a dangling link
	}
	switch {
	case t.o.Source != nil && !t.o.Replace && os.SameFile(st, t.o.Source):
		err = ErrSame
	case st.IsDir():
		err = ErrFolder
	case !t.o.Overwrite:
		err = ErrExists
	case !st.Mode().IsRegular() && lst.Mode()&fs.ModeSymlink == 0:
		err = ErrNotRegular
	default:
		return nil
	}
	return fmt.Errorf("%s: %w", t.path, err)
}

// flushChunk is the number of written bytes after which the system is told to flush
// them to disk. It does so in the background, which keeps the sync in Commit short.
const flushChunk = 16 << 20

// Write appends to the file.
func (t *File) Write(p []byte) (int, error) {
	n, err := t.write(p)
	if err != nil {
		err = fmt.Errorf("%s: %w", t.path, Cause(err))
	}
	if t.size += int64(n); t.size-t.flushed >= flushChunk {
		startFlush(t.f, t.flushed, t.size-t.flushed)
		t.flushed = t.size
	}
	return n, err
}

// ReadAt reads written bytes, before Commit. It does not move the end, where Write appends.
func (t *File) ReadAt(p []byte, off int64) (int, error) {
	t.setDirect(false)
	return t.f.ReadAt(p, off)
}

// WriteAt overwrites written bytes, before Commit.
func (t *File) WriteAt(p []byte, off int64) (int, error) {
	t.setDirect(false)
	return t.f.WriteAt(p, off)
}

// Truncate sets the length of the file, before Commit.
func (t *File) Truncate(size int64) error { return t.f.Truncate(size) }

// Size returns the number of bytes that Write has written.
func (t *File) Size() int64 { return t.size }

// Path returns the target.
func (t *File) Path() string { return t.path }

// Commit makes the file appear, with all its bytes on disk where the file system can flush
// them. After an error nothing remains.
func (t *File) Commit() error {
	if err := t.appear(); err != nil {
		t.Close()
		if errors.Is(err, fs.ErrExist) {
			err = ErrExists
		}
		return fmt.Errorf("%s: %w", t.path, Cause(err))
	}
	t.vol.release()
	t.done = true
	return nil
}

// Leftover returns the temporary name that Commit could not remove, or "". There is one
// in folders where files can be added but not removed. The target is complete
// nevertheless: both names belong to the same file.
func (t *File) Leftover() string { return t.left }

func (t *File) appear() error {
	t.keepOwner()
	timed := t.o.Source == nil || setTime(t.f, t.o.Source.ModTime()) == nil // to disk together with the bytes
	if err := t.flush(); err != nil {
		return err
	}
	dir, base := filepath.Split(t.path)
	if t.tmp == "" {
		err := nameUnnamed(t.f, t.path)
		if err == nil {
			t.settle(dir)
			return nil
		}
		if !t.o.Overwrite || !errors.Is(err, fs.ErrExist) {
			return err
		}
		// A file cannot be linked over an existing one, so link it beside and rename
		// it.
		if t.tmp, err = linkBeside(t.f, dir, base); err != nil {
			return err
		}
	}
	if !removesOpen {
		if err := t.f.Close(); err != nil {
			return err
		}
	}
	if !timed {
		m := t.o.Source.ModTime()
		_ = os.Chtimes(t.tmp, m, m)
	}
	if t.o.Overwrite {
		if err := sys.rename(t.tmp, t.path); err != nil {
			return err
		}
	} else {
		left, err := renameNew(t.tmp, t.path)
		if err != nil {
			return err
		}
		t.left = left
	}
	t.tmp = ""
	t.settle(dir)
	return nil
}

// flush writes the file to disk.
func (t *File) flush() error {
	if t.size < togetherBelow && t.vol.flush() == nil {
		return nil
	}
	if err := t.f.Sync(); !unsupported(Cause(err)) {
		return err
	}
	return nil
}

// linkBeside links an unnamed file to a temporary name.
func linkBeside(f *os.File, dir, base string) (string, error) {
	for {
		tmp := tmpPath(dir, base)
		err := nameUnnamed(f, tmp)
		if err == nil {
			return tmp, nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return "", err
		}
	}
}

// settle closes the file and writes its name, and those of new folders, to the disk.
func (t *File) settle(dir string) {
	t.f.Close() // already synced; some systems rename only closed files
	if t.vol.flush() != nil {
		_ = SyncDir(dir)
		for _, d := range t.dirs {
			_ = SyncDir(filepath.Dir(d))
		}
	}
	keepDirs(t.dirs)
}

// keepOwner copies permissions and, as root, the owner of the source. Some file systems
// support neither; then nothing changes.
func (t *File) keepOwner() {
	if t.o.Source == nil {
		return
	}
	if uid, gid, ok := owner(t.o.Source); ok && os.Geteuid() == 0 {
		_ = t.f.Chown(uid, gid)
	}
	_ = t.f.Chmod(t.o.Source.Mode().Perm())
}

// Close discards the file and the folders made for it. It does nothing after Commit.
func (t *File) Close() error {
	if t.done {
		return nil
	}
	t.done = true
	t.vol.release()
	if t.tmp != "" && removesOpen {
		sys.remove(t.tmp)
	}
	t.f.Close()
	if t.tmp != "" && !removesOpen {
		sys.remove(t.tmp)
	}
	removeDirs(t.dirs)
	return nil
}
