// Package openfiles keeps archives and other netCDF files open for programs that serve
// many of them: packages mount and serve. It may import archive and nothing else of this
// module.
//
// All files share one cache of blocks. A file that nobody uses stays open for a while,
// since its blocks in the cache belong to the open file.
package openfiles

import (
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/cdfz-format/cdfz/archive"
)

const (
	maxIdle  = 64               // files kept open without users
	idleTime = 30 * time.Second // how long; a deleted file takes disk space meanwhile

	// indexPages bounds the pages of the index kept by each open archive, in bytes. The
	// default of package archive is for a program with one file.
	indexPages = 1 << 20
	// blockMemory bounds what decoding a block may need, with its stored and decoded bytes. It
	// suffices for blocks of 100 MiB with any filter. Blocks of an archive from elsewhere can
	// need ten times their length of 1 GiB.
	blockMemory = 1 << 30
)

// Cache holds open files by their keys. A key must change whenever the contents of a
// file do. A Cache is safe for concurrent use.
type Cache[K comparable, V any] struct {
	opts  archive.OpenOptions
	value func(K, *archive.File) V

	mu   sync.Mutex
	open map[K]*File[K, V]
	idle []*File[K, V] // in the order of their last use
	tick *time.Timer
}

// File is an open file with what its program keeps for it.
type File[K comparable, V any] struct {
	Value V
	key   K
	file  *os.File
	refs  int       // guarded by the cache
	last  time.Time // when refs became 0
}

// Stored returns the file as it is stored. It must not be used after the File is released.
func (f *File[K, V]) Stored() io.ReaderAt { return f.file }

// New returns an empty cache. The blocks of all files take at most the given number of
// bytes, and each read decodes in at most workers goroutines (0: as archive.OpenOptions).
// New fails if the cache is smaller than archive.NewCache allows. Value makes the Value
// of a File that was opened.
func New[K comparable, V any](blocks int64, workers int, value func(K, *archive.File) V) (*Cache[K, V], error) {
	shared, err := archive.NewCache(blocks)
	if err != nil {
		return nil, err
	}
	o := archive.OpenOptions{Shared: shared, Workers: workers, Index: indexPages, BlockMemory: blockMemory}
	return &Cache[K, V]{opts: o, value: value, open: map[K]*File[K, V]{}}, nil
}

// Resize changes the number of bytes that the blocks of all files may take.
func (c *Cache[K, V]) Resize(blocks int64) { c.opts.Shared.Resize(blocks) }

// Read reads the metadata of a file that is not kept. Its errors do not name the file.
func (c *Cache[K, V]) Read(r io.ReaderAt, size int64) (*archive.File, error) {
	return archive.New(r, size, &c.opts)
}

// Use returns an open file, or nil. The caller must release it.
func (c *Cache[K, V]) Use(key K) *File[K, V] {
	c.mu.Lock()
	defer c.mu.Unlock()
	f := c.open[key]
	if f != nil {
		c.take(f)
	}
	return f
}

// Add reads the metadata of a file and keeps it open. It closes the file if it fails, or
// if another goroutine has added the key meanwhile: then it returns that one's File. The
// caller must release the File.
func (c *Cache[K, V]) Add(key K, file *os.File, size int64) (*File[K, V], error) {
	a, err := c.Read(file, size)
	if err != nil {
		file.Close()
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if f := c.open[key]; f != nil {
		file.Close()
		c.take(f)
		return f, nil
	}
	f := &File[K, V]{Value: c.value(key, a), key: key, file: file, refs: 1}
	c.open[key] = f
	return f, nil
}

// take adds a user. The caller holds the lock.
func (c *Cache[K, V]) take(f *File[K, V]) {
	if f.refs++; f.refs == 1 {
		i := slices.Index(c.idle, f)
		c.idle = slices.Delete(c.idle, i, i+1)
	}
}

// Retain adds a user to a file that has one.
func (c *Cache[K, V]) Retain(f *File[K, V]) {
	c.mu.Lock()
	f.refs++
	c.mu.Unlock()
}

// Release ends a use of a file.
func (c *Cache[K, V]) Release(f *File[K, V]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f.refs--; f.refs > 0 {
		return
	}
	f.last = time.Now()
	c.idle = append(c.idle, f)
	if len(c.idle) > maxIdle {
		c.drop(1)
	}
	if c.tick == nil {
		c.tick = time.AfterFunc(idleTime, c.sweep)
	}
}

// drop closes the first n idle files. The caller holds the lock.
func (c *Cache[K, V]) drop(n int) {
	for _, f := range c.idle[:n] {
		delete(c.open, f.key)
		f.file.Close()
	}
	c.idle = slices.Delete(c.idle, 0, n)
}

// sweep closes files that were idle for long.
func (c *Cache[K, V]) sweep() {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for n < len(c.idle) && time.Since(c.idle[n].last) >= idleTime {
		n++
	}
	c.drop(n)
	c.tick = nil
	if len(c.idle) > 0 {
		c.tick = time.AfterFunc(idleTime-time.Since(c.idle[0].last), c.sweep)
	}
}

// Close closes the files without users. Files in use close some time after their last
// Release.
func (c *Cache[K, V]) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.tick != nil {
		c.tick.Stop()
		c.tick = nil
	}
	c.drop(len(c.idle))
}

// Len returns the number of open files and of those in use.
func (c *Cache[K, V]) Len() (open, used int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.open), len(c.open) - len(c.idle)
}
