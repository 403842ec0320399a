package archivefs

import (
	"io/fs"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/cdfz-format/cdfz/archive"
)

const (
	maxIdle  = 64               // files kept open without users
	idleTime = 30 * time.Second // for which a file is kept; a deleted one takes disk space meanwhile
	maxKinds = 1 << 16          // files whose kind is remembered; each takes about 300 bytes

	// IndexPages and BlockMemory are options of archive.OpenOptions for programs with many open
	// archives. IndexPages is a limit for the pages of the index kept by each, in bytes.
	IndexPages = 1 << 20
	// BlockMemory is a limit for what decoding a block may need, in bytes, with its stored and
	// decoded bytes. It suffices for blocks of 100 MiB with any filter. Blocks of an archive from
	// elsewhere can need ten times their length of 1 GiB.
	BlockMemory = 1 << 30
)

// Archives is the state that all FS of a folder share. It is safe for concurrent use.
//
// A file that nobody uses stays open for a while, since its decoded blocks in the cache of
// blocks belong to the open file.
type Archives struct {
	Problems
	format format
	kinds  *lru.Cache[Ident, kind]

	mu    sync.Mutex
	files map[Ident]*File
	used  int // files with users
}

// kind tells whether a file is an archive, and of what.
type kind struct {
	archive bool
	closed  bool   // joined files that were not opened yet: size and err are not known
	size    int64  // of the original
	sha256  string // of the original
	err     error  // why the archive cannot be opened
}

func newArchives(f format) *Archives {
	kinds, _ := lru.New[Ident, kind](maxKinds) // fails for no size only
	return &Archives{Problems: Problems{cause: f.cause}, format: f, kinds: kinds, files: map[Ident]*File{}}
}

// File is an open netCDF file, which several may use.
type File struct {
	NetCDF *archive.File
	// Stored is the file as it is stored. It must not be used after the File is released.
	Stored Stored
	ID     Ident

	users int         // guarded by the Archives
	timer *time.Timer // closes the file if it has no users
	once  sync.Once
	value any
}

// Value returns the result of compute, which is called at most once for each open file.
func (f *File) Value(compute func(*archive.File) any) any {
	f.once.Do(func() { f.value = compute(f.NetCDF) })
	return f.value
}

// Acquire opens a netCDF file of the file system, or returns it if it is open. Errors
// do not contain the name. The caller must release the File.
func (v *FS) Acquire(name string) (*File, error) {
	info, err := fs.Stat(v.fsys, name)
	if err != nil {
		return nil, err
	}
	id := IdentOf(name, info)
	if f := v.use(id, nil); f != nil {
		return f, nil
	}
	file, info, err := v.OpenStored(name)
	if err != nil {
		return nil, err
	}
	a, closer, err := v.openNetCDF(name, "", file, info)
	if err != nil {
		file.Close()
		return nil, err
	}
	id = IdentOf(name, info)
	return v.use(id, &File{NetCDF: a, Stored: together{file, closer}, ID: id}), nil
}

// use adds a user to the open file with the identity. If there is none, it adds opened, which
// may be nil. If there is one, it closes opened.
func (s *Archives) use(id Ident, opened *File) *File {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.files[id]
	switch {
	case f == nil && opened == nil:
		return nil
	case f == nil:
		f = opened
		s.files[id] = f
	case opened != nil:
		opened.Stored.Close()
	}
	if f.users++; f.users == 1 {
		s.used++
		if f.timer != nil {
			f.timer.Stop()
			f.timer = nil
		}
	}
	return f
}

// Release ends a use of a file.
func (s *Archives) Release(f *File) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f.users--; f.users > 0 {
		return
	}
	s.used--
	if len(s.files)-s.used > maxIdle {
		for _, other := range s.files { // any one
			if s.closeIdle(other) {
				break
			}
		}
	}
	f.timer = time.AfterFunc(idleTime, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.closeIdle(f)
	})
}

// closeIdle closes a file if it has no users and reports whether it did. The caller holds the
// lock.
func (s *Archives) closeIdle(f *File) bool {
	if f.users > 0 || s.files[f.ID] != f {
		return false
	}
	delete(s.files, f.ID)
	f.Stored.Close()
	return true
}

// Close closes the files without users. Files in use are closed some time after their last
// Release.
func (s *Archives) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.files {
		s.closeIdle(f)
	}
}

// Len returns the number of open files and of those in use.
func (s *Archives) Len() (open, used int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.files), s.used
}
