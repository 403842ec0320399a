package folderview

import (
	"io"
	"io/fs"
	"slices"
	"sync"
	"time"
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

// Archives is the state of all views of a folder. It is safe for concurrent use.
//
// A file that nobody uses stays open for a while, since its decoded blocks in the cache of
// blocks belong to the open file.
type Archives[A any] struct {
	Problems
	format Format[A]

	mu    sync.Mutex
	kinds map[Ident]kind
	files map[Ident]*File[A]
	idle  []*File[A] // in the order of their last use
	tick  *time.Timer
}

// kind tells whether a file is an archive, and of what.
type kind struct {
	archive bool
	size    int64  // of the original
	sha256  string // of the original
	err     error  // why the archive cannot be opened
}

func newArchives[A any](f Format[A]) *Archives[A] {
	return &Archives[A]{Problems: Problems{cause: f.Cause}, format: f, kinds: map[Ident]kind{}, files: map[Ident]*File[A]{}}
}

// known returns the kind of a file that was read before.
func (s *Archives[A]) known(id Ident) (kind, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k, ok := s.kinds[id]
	return k, ok
}

// learn remembers the kind of a file.
func (s *Archives[A]) learn(id Ident, k kind) {
	if id == (Ident{}) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.kinds) >= maxKinds {
		clear(s.kinds)
	}
	s.kinds[id] = k
}

// File is an open netCDF file, which several may use.
type File[A any] struct {
	NetCDF A
	// Stored is the file as it is stored. It must not be used after the File is released.
	Stored io.ReaderAt
	ID     Ident

	file  fs.File
	users int       // guarded by the Archives
	last  time.Time // when users became 0
	once  sync.Once
	value any
}

// Value returns the result of compute, which is called at most once for each open file.
func (f *File[A]) Value(compute func(A) any) any {
	f.once.Do(func() { f.value = compute(f.NetCDF) })
	return f.value
}

// Acquire opens a netCDF file of the view's file system, or returns it if it is open. Errors
// do not contain the name. The caller must release the File.
func (v *View[A]) Acquire(name string) (*File[A], error) {
	info, err := fs.Stat(v.fsys, name)
	if err != nil {
		return nil, err
	}
	id := IdentOf(name, info)
	if f := v.use(id, nil); f != nil {
		return f, nil
	}
	file, r, err := v.open(name, &info)
	if err != nil {
		return nil, err
	}
	a, err := v.format.Open("", r, info.Size())
	if err != nil {
		file.Close()
		return nil, err
	}
	id = IdentOf(name, info)
	return v.use(id, &File[A]{NetCDF: a, Stored: r, ID: id, file: file}), nil
}

// use adds a user to the open file with the identity. If there is none, it adds opened, which
// may be nil. If there is one, it closes opened.
func (s *Archives[A]) use(id Ident, opened *File[A]) *File[A] {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.files[id]
	switch {
	case f == nil && opened == nil:
		return nil
	case f == nil:
		f = opened
		if id != (Ident{}) {
			s.files[id] = f
		}
	case opened != nil:
		opened.file.Close()
	}
	if i := slices.Index(s.idle, f); i >= 0 {
		s.idle = slices.Delete(s.idle, i, i+1)
	}
	f.users++
	return f
}

// Release ends a use of a file.
func (s *Archives[A]) Release(f *File[A]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f.users--; f.users > 0 {
		return
	}
	f.last = time.Now()
	s.idle = append(s.idle, f)
	if len(s.idle) > maxIdle {
		s.drop(1)
	}
	if s.tick == nil {
		s.tick = time.AfterFunc(idleTime, s.sweep)
	}
}

// drop closes the first n idle files. The caller holds the lock.
func (s *Archives[A]) drop(n int) {
	for _, f := range s.idle[:n] {
		delete(s.files, f.ID)
		f.file.Close()
	}
	s.idle = slices.Delete(s.idle, 0, n)
}

// sweep closes files that were idle for idleTime.
func (s *Archives[A]) sweep() {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for n < len(s.idle) && time.Since(s.idle[n].last) >= idleTime {
		n++
	}
	s.drop(n)
	s.tick = nil
	if len(s.idle) > 0 {
		s.tick = time.AfterFunc(idleTime-time.Since(s.idle[0].last), s.sweep)
	}
}

// Close closes the files without users. Files in use are closed some time after their last
// Release.
func (s *Archives[A]) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tick != nil {
		s.tick.Stop()
		s.tick = nil
	}
	s.drop(len(s.idle))
}

// Len returns the number of open files and of those in use.
func (s *Archives[A]) Len() (open, used int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.files), len(s.files) - len(s.idle)
}
