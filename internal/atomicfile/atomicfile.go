// Package atomicfile writes files that appear complete or not at all.
//
//	f, err := atomicfile.Create("x.nc.cdfz", nil)
//	if err != nil { … }
//	defer f.Close() // discards the file unless it was committed
//	… write to f …
//	return f.Commit()
//
// On Linux the file has no name until Commit, so nothing remains however the program
// ends. Elsewhere, and on file systems without unnamed files or that cannot name them, it has a
// temporary name and a lock. A later Create in the same folder removes temporary files that are not
// locked. On file systems without locks, the temporary file of a killed program stays
// until somebody removes it.
//
// The folder of a target is held open until the end. A folder that is renamed or replaced
// meanwhile does not lead elsewhere.
//
// The package also provides folders that appear complete or not at all (WriteFolder), the
// removal of a file that is open (Remove), unlinked temporary files (Temp), Lock, and flushes
// that several callers share (SyncDir, Flusher). Its functions are safe for concurrent use.
package atomicfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/cdfz-format/cdfz/internal/access"
)

// Errors of Create and Commit if something is in the way of the target. They are
// wrapped with the path.
var (
	ErrExists     error = existsError{} // is fs.ErrExist; only without Options.Overwrite
	ErrSame             = errors.New("target and source are the same file")
	ErrFolder           = errors.New("target is a folder")
	ErrNotRegular       = errors.New("target is not a regular file")
)

// errMoved is the error of a target that another program replaces again and again.
var errMoved = errors.New("another program replaces the target again and again")

type existsError struct{}

func (existsError) Error() string        { return "target exists" }
func (existsError) Is(target error) bool { return target == fs.ErrExist }

// Options control Create. Nil and the zero value are the defaults.
type Options struct {
	// Overwrite replaces an existing file on Commit. Until then it is not touched.
	Overwrite bool
	// Source describes the file that the new one is made from, or is nil. It must not
	// be the target. Its modification time is copied, and without Rights also its
	// permissions, as package access does.
	Source fs.FileInfo
	// Rights, if not nil, is called by Commit with the complete file, to set its owner, permissions
	// and ACL. Until then only the owner may use the file.
	Rights func(f *os.File)
	// FolderRights, if not nil, is called for each folder that MakeDirs makes, with its path below Root,
	// or below the last folder of the path that existed. It returns what sets the rights of the folder
	// at once, or nil for those of any new folder.
	FolderRights func(rel string) func(f *os.File)
	// Replace allows Source to be the target, which Commit then replaces.
	Replace bool
	// MayReplace, if not nil, is called by Commit with the file that is about to be replaced and
	// with the complete new file and its size in bytes. old describes what the target's name
	// leads to. An error keeps the old file and is returned. If another program puts another file
	// in its place meanwhile, MayReplace is called again with that one.
	MayReplace func(old fs.FileInfo, new io.ReaderAt, size int64) error
	// MakeDirs makes missing folders. Close removes those that are still empty.
	MakeDirs bool
	// Root, if not nil, is an open folder, and Rel the path of the target below it, without "..".
	// Symbolic links to folders are not followed there. The path of Create is then only that of
	// messages. Root must stay open until Commit or Close.
	Root *os.Root
	Rel  string
	// Size is the expected number of bytes, if known. Large files are written without the
	// page cache where the system supports this.
	Size int64
	// Sparse leaves holes where zeros are written: Write skips them, and Commit frees the room of those that
	// WriteAt has written.
	Sparse Sparse
	// Together lets Commit of a small file wait for a flush of the whole file system that serves
	// other files, too. Many files that are written at the same time take less time so.
	Together bool
}

// File is a file being written. It is not safe for concurrent use.
type File struct {
	f    *os.File
	path string // of the target, for messages
	in   *place
	base string // name in it
	tmp  string // the same until Commit, or ""
	o    Options
	dirs []string // folders made by MakeDirs in o.Root, outermost first
	own  *os.Root // o.Root, if Create opened it
	vol  *volume  // flushes the file with others, or nil
	done bool
	left string

	size, flushed int64 // bytes written, and bytes that the system was told to flush

	direct  bool // writes bypass the page cache
	refused bool // such writes are not possible

	sparse bool  // zeros are not written
	hole   int64 // bytes at the end that were not
	digs   bool  // WriteAt may have written zeros
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
	if t.o.Root != nil {
		path = t.o.Rel
	}
	dir, base := filepath.Split(path)
	if t.base = base; base == "" {
		t.base = "." // is in the way
	}
	if err := t.openPlace(dir); err != nil {
		t.closePlace()
		return nil, cannotWrite(filepath.Dir(t.path), err)
	}
	err := t.checkFree()
	if err == nil {
		t.in.removeStale()
		if err = t.open(); err != nil {
			err = cannotWrite(t.in.path, err)
		}
	}
	if err != nil {
		removeDirs(t.o.Root, t.dirs)
		t.closePlace()
		return nil, err
	}
	t.setSparse()
	if t.o.Together {
		t.vol = useVolume(t.f, t.in)
	}
	return t, nil
}

// openPlace opens the folder of the target.
func (t *File) openPlace(dir string) (err error) {
	if dir == "" {
		dir = "."
	}
	if t.o.Root == nil && t.o.MakeDirs {
		base, rest, err := OpenBase(dir)
		switch {
		case err == nil:
			t.own, t.o.Root, dir = base, base, rest
		case !errors.Is(err, fs.ErrPermission):
			return err
		}
	}
	if t.o.Root == nil {
		t.in, err = openPlace(dir)
		return err
	}
	t.in, t.dirs, err = below(t.o.Root, dir, t.o.MakeDirs, t.o.FolderRights)
	return err
}

// closePlace closes the folders.
func (t *File) closePlace() {
	if t.in != nil {
		t.in.Close()
	}
	if t.own != nil {
		t.own.Close()
	}
}

// open makes the file, without a name if possible.
func (t *File) open() (err error) {
	mode := fs.FileMode(0o666)
	if t.o.Source != nil || t.o.Rights != nil {
		mode = access.PrivateFile
	}
	if t.in.triesUnnamed() {
		if t.f, err = openUnnamed(t.in, t.path, mode); err == nil {
			return nil
		}
	}
	t.f, t.tmp, err = openNamed(t.in, t.base, mode)
	return err
}

func cannotWrite(dir string, err error) error { return &FolderError{dir, Cause(err)} }

// checkFree checks that nothing is in the way of the target.
func (t *File) checkFree() error {
	_, _, err := t.inTheWay()
	if err != nil && Cause(err) == err {
		return fmt.Errorf("%s: %w", t.path, err)
	}
	return err
}

// inTheWay describes the file that has the name of the target and, if that is a symbolic link,
// the file that it leads to. Both are nil if the name is free. It fails if the file must not be
// replaced.
func (t *File) inTheWay() (named, led fs.FileInfo, err error) {
	named, err = t.in.Lstat(t.base)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	led = named
	if named.Mode()&fs.ModeSymlink != 0 {
		if to, err := os.Stat(t.path); err == nil { // else a dangling link
			led = to
		}
	}
	switch {
	case t.o.Source != nil && !t.o.Replace && os.SameFile(led, t.o.Source):
		err = ErrSame
	case led.IsDir():
		err = ErrFolder
	case !t.o.Overwrite:
		err = ErrExists
	case !led.Mode().IsRegular() && led.Mode()&fs.ModeSymlink == 0:
		err = ErrNotRegular // also if a link leads to it, such as /dev/stdout
	}
	return named, led, err
}

// flushChunk is the number of written bytes after which the system is told to flush
// them to disk. It does so in the background, which keeps the sync in Commit short.
const flushChunk = 16 << 20

// Write appends to the file.
func (t *File) Write(p []byte) (int, error) {
	var n int
	var err error
	if t.sparse {
		n, err = t.writeSparse(p)
	} else {
		n, err = t.writeData(p, t.size)
	}
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
	if err := t.closeHole(); err != nil {
		return 0, err
	}
	return t.f.ReadAt(p, off)
}

// WriteAt overwrites written bytes, before Commit.
func (t *File) WriteAt(p []byte, off int64) (int, error) {
	t.setDirect(false)
	t.digs = t.sparse
	return t.f.WriteAt(p, off)
}

// Truncate sets the length of the file, before Commit.
func (t *File) Truncate(size int64) error {
	if err := t.closeHole(); err != nil {
		return err
	}
	return t.f.Truncate(size)
}

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
	t.closePlace()
	t.done = true
	return nil
}

// Leftover returns the temporary name that Commit could not remove, or "". There is one
// in folders where files can be added but not removed. The target is complete
// nevertheless: the name belongs to the same file, or to the one that was replaced.
func (t *File) Leftover() string { return t.left }

// complete gives a file with all its bytes its rights and its time, and writes it to disk.
func (t *File) complete() error {
	if err := t.closeHole(); err != nil {
		return err
	}
	if t.digs {
		if err := t.dig(); err != nil {
			return err
		}
	}
	t.setRights()
	timed := t.o.Source == nil || setTime(t.f, t.o.Source.ModTime()) == nil // to disk together with the bytes
	if err := t.flush(); err != nil {
		return err
	}
	if t.tmp != "" && !removesOpen {
		if err := t.f.Close(); err != nil {
			return err
		}
	}
	if !timed && t.tmp != "" {
		m := t.o.Source.ModTime()
		_ = t.in.Chtimes(t.tmp, m, m)
	}
	return nil
}

func (t *File) appear() error {
	if err := t.complete(); err != nil {
		return err
	}
	for range 100 {
		err := t.name()
		done := err == nil
		if err != nil && t.o.Overwrite && errors.Is(err, fs.ErrExist) {
			done, err = t.replace()
		}
		if err != nil {
			return err
		}
		if done {
			t.tmp = ""
			t.settle()
			return nil
		}
	}
	return errMoved
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

// settle closes the file and writes its name, and those of new folders, to the disk.
func (t *File) settle() {
	t.f.Close() // already synced; some systems rename only closed files
	if t.vol.flush() != nil {
		_ = t.in.sync()
		syncDirs(t.o.Root, t.dirs)
	}
	keepDirs(t.o.Root, t.dirs)
}

// setRights gives the file the rights that it has from then on. Some file systems have none; then nothing
// changes.
func (t *File) setRights() {
	switch {
	case t.o.Rights != nil:
		t.o.Rights(t.f)
	case t.o.Source != nil:
		(&access.Limits{Copy: access.FromInfo(t.o.Source)}).Set(t.f)
	}
}

// Close discards the file and the folders made for it. It does nothing after Commit.
func (t *File) Close() error {
	if t.done {
		return nil
	}
	t.done = true
	t.vol.release()
	if t.tmp != "" && removesOpen {
		sys.remove(t.in, t.tmp)
	}
	t.f.Close()
	if t.tmp != "" && !removesOpen {
		sys.remove(t.in, t.tmp)
	}
	removeDirs(t.o.Root, t.dirs)
	t.closePlace()
	return nil
}
