//go:build linux

package mount

import (
	"io"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/cdfz-format/cdfz/archive"
)

// images holds the open archives. All share one cache of blocks. Archives that nobody
// uses stay open for a while, since their blocks in the cache belong to the open file.
// It is safe for concurrent use.
type images struct {
	opts archive.OpenOptions

	mu   sync.Mutex
	open map[ident]*image
	idle []*image // in the order of their last use
	tick *time.Timer
}

const (
	maxIdle  = 64               // archives kept open without users
	idleTime = 30 * time.Second // how long; a deleted archive takes disk space meanwhile

	// indexPages bounds the pages of the index kept by each open archive, in bytes. The
	// default of package archive is for a program with one file.
	indexPages = 1 << 20
)

// image is an open archive.
type image struct {
	*archive.Image
	name string // of the archive, in the source
	id   ident
	file *os.File
	refs int       // guarded by images
	last time.Time // when refs became 0
}

func newImages(cache int64, workers int) (*images, error) {
	shared, err := archive.NewCache(cache)
	if err != nil {
		return nil, err
	}
	return &images{opts: archive.OpenOptions{Shared: shared, Workers: workers, Index: indexPages}, open: map[ident]*image{}}, nil
}

// read reads the metadata of an archive. Its errors do not name the file: warnings do.
func (c *images) read(r io.ReaderAt, size int64) (*archive.File, error) {
	return archive.New(r, size, &c.opts)
}

// acquire returns an archive of the source if its contents are still those of id, else
// ESTALE. The caller must release it.
func (c *images) acquire(s files, name string, id ident) (*image, error) {
	if st, err := s.stat(name); err != nil || identOf(st) != id {
		return nil, syscall.ESTALE
	}
	if im := c.use(id); im != nil {
		return im, nil
	}
	f, st, err := s.open(name)
	if err != nil {
		return nil, err
	}
	if identOf(st) != id {
		f.Close()
		return nil, syscall.ESTALE
	}
	a, err := c.read(f, st.Size)
	if err != nil {
		f.Close()
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if im := c.open[id]; im != nil { // another goroutine was faster
		f.Close()
		c.take(im)
		return im, nil
	}
	im := &image{Image: a.Image(), name: name, id: id, file: f, refs: 1}
	c.open[id] = im
	return im, nil
}

// use returns an open archive, or nil.
func (c *images) use(id ident) *image {
	c.mu.Lock()
	defer c.mu.Unlock()
	im := c.open[id]
	if im != nil {
		c.take(im)
	}
	return im
}

// take adds a user. The caller holds the lock.
func (c *images) take(im *image) {
	if im.refs++; im.refs > 1 {
		return
	}
	for i, other := range c.idle {
		if other == im {
			c.idle = append(c.idle[:i], c.idle[i+1:]...)
			return
		}
	}
}

// retain adds a user to an archive that has one.
func (c *images) retain(im *image) {
	c.mu.Lock()
	im.refs++
	c.mu.Unlock()
}

// release ends the use of an archive.
func (c *images) release(im *image) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if im.refs--; im.refs > 0 {
		return
	}
	im.last = time.Now()
	c.idle = append(c.idle, im)
	if len(c.idle) > maxIdle {
		c.drop(1)
	}
	if c.tick == nil {
		c.tick = time.AfterFunc(idleTime, c.sweep)
	}
}

// drop closes the first n idle archives. The caller holds the lock.
func (c *images) drop(n int) {
	for _, im := range c.idle[:n] {
		delete(c.open, im.id)
		im.file.Close()
	}
	c.idle = append(c.idle[:0], c.idle[n:]...)
}

// sweep closes archives that were idle for long.
func (c *images) sweep() {
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

// users returns the number of archives in use.
func (c *images) users() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.open) - len(c.idle)
}
