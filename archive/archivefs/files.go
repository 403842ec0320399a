package archivefs

import (
	"io/fs"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/internal/kept"
)

const (
	maxIdle  = 64               // files kept open without users and holders
	maxHeld  = 1 << 12          // files kept open without users that somebody holds; each takes about 15 kB
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

	files *kept.Pool[Ident, *File]
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
	return &Archives{Problems: Problems{cause: f.cause}, format: f, kinds: kinds, files: kept.New[Ident, *File](kept.Limits{
		Idle: int(min(maxIdle, kept.MaxOpen()/8)), Time: idleTime, Held: int(min(maxHeld, kept.MaxOpen()/4)),
	})}
}

// File is an open netCDF file, which several may use.
type File struct {
	NetCDF *archive.File
	// Stored is the file as it is stored. It must not be used after the File is released.
	Stored Stored
	ID     Ident

	item  *kept.Item[Ident, *File]
	once  sync.Once
	value any
}

// Close implements io.Closer for the pool. Users release a File.
func (f *File) Close() error { return f.Stored.Close() }

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
	if opened == nil {
		if i := s.files.Use(id); i != nil {
			return i.Value
		}
		return nil
	}
	opened.item = &kept.Item[Ident, *File]{Key: id, Value: opened}
	f := s.files.Add(opened.item).Value
	if f != opened {
		opened.Close()
	}
	return f
}

// AcquireAs is Acquire if the file is the one with the identity, else its error is ErrReplaced.
func (v *FS) AcquireAs(name string, id Ident) (*File, error) {
	info, err := fs.Stat(v.fsys, name)
	if err != nil || IdentOf(name, info) != id {
		return nil, ErrReplaced
	}
	f, err := v.Acquire(name)
	if err == nil && f.ID != id {
		v.Release(f)
		return nil, ErrReplaced
	}
	return f, err
}

// Held is a file that is read now and then. It stays open between the reads, however long they are apart, unless too
// many are open. Then it is opened again by its name, as the file that it was.
type Held struct {
	v    *FS
	name string
	id   Ident

	mu   sync.Mutex
	item *kept.Item[Ident, *File] // the last one
}

// Hold returns a file that is acquired as Held. The name is that in the file system. The caller must close the Held,
// and still release the File.
func (v *FS) Hold(name string, f *File) *Held {
	v.files.Hold(f.item)
	return &Held{v: v, name: name, id: f.ID, item: f.item}
}

// Acquire returns the file, which the caller must release. The error is ErrReplaced if it had to be opened again and is
// no longer there under its name, or one of opening it.
func (h *Held) Acquire() (*File, error) {
	f := h.v.use(h.id, nil)
	if f == nil {
		var err error
		if f, err = h.v.AcquireAs(h.name, h.id); err != nil {
			return nil, err
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if f.item != h.item {
		h.v.files.Hold(f.item)
		h.v.files.Unhold(h.item)
		h.item = f.item
	}
	return f, nil
}

// Close ends the holding. No Acquire may be active.
func (h *Held) Close() { h.v.files.Unhold(h.item) }

// Retain adds a use of a file in use, which the caller must release, too.
func (s *Archives) Retain(f *File) { s.files.Retain(f.item) }

// Release ends a use of a file.
func (s *Archives) Release(f *File) { s.files.Release(f.item) }

// Close closes the files without users. Files in use are closed after their last Release.
func (s *Archives) Close() { _ = s.files.Close(func(Ident) bool { return true }) }

// Len returns the number of open files and of those in use.
func (s *Archives) Len() (open, used int) { return s.files.Len() }
