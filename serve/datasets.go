package serve

import (
	"context"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/serve/dap"
)

// datasets holds the open netCDF files. All share one cache of blocks. Files that nobody
// uses stay open for a while, since their blocks in the cache belong to the open file.
// It is safe for concurrent use.
type datasets struct {
	opts archive.OpenOptions

	mu   sync.Mutex
	open map[ident]*dataset
	idle []*dataset // in the order of their last use
	tick *time.Timer
}

const (
	maxIdle  = 64               // files kept open without users
	idleTime = 30 * time.Second // how long; a deleted file takes disk space meanwhile

	// indexPages bounds the pages of the index kept by each open archive, in bytes. The
	// default of package archive is for a program with one file.
	indexPages = 1 << 20
)

// dataset is an open netCDF file.
type dataset struct {
	*archive.File
	id   ident
	file *os.File
	dap  func() *dap.Dataset
	zarr func() (*archive.Zarr, error)
	refs int       // guarded by datasets
	last time.Time // when refs became 0
}

func newDatasets(cache int64, workers int) (*datasets, error) {
	shared, err := archive.NewCache(cache)
	if err != nil {
		return nil, err
	}
	return &datasets{opts: archive.OpenOptions{Shared: shared, Workers: workers, Index: indexPages}, open: map[ident]*dataset{}}, nil
}

// read reads the metadata of a file. Its errors do not name the file: warnings do.
func (c *datasets) read(r io.ReaderAt, size int64) (*archive.File, error) {
	return archive.New(r, size, &c.opts)
}

// acquire returns a netCDF file with its present contents. The caller must release it.
func (c *datasets) acquire(name string, open func(string) (*os.File, fs.FileInfo, error)) (*dataset, error) {
	f, st, err := open(name)
	if err != nil {
		return nil, err
	}
	id := identOf(name, st)
	if d := c.use(id); d != nil {
		f.Close()
		return d, nil
	}
	a, err := c.read(f, st.Size())
	if err != nil {
		f.Close()
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if d := c.open[id]; d != nil { // another goroutine was faster
		f.Close()
		c.take(d)
		return d, nil
	}
	shown := strings.TrimSuffix(path.Base(name), archive.Suffix)
	d := &dataset{File: a, id: id, file: f, refs: 1, dap: sync.OnceValue(func() *dap.Dataset { return dap.New(a, shown) }),
		zarr: sync.OnceValues(func() (*archive.Zarr, error) { return a.Zarr(context.Background()) })}
	c.open[id] = d
	return d, nil
}

// use returns an open file, or nil.
func (c *datasets) use(id ident) *dataset {
	c.mu.Lock()
	defer c.mu.Unlock()
	d := c.open[id]
	if d != nil {
		c.take(d)
	}
	return d
}

// take adds a user. The caller holds the lock.
func (c *datasets) take(d *dataset) {
	if d.refs++; d.refs == 1 {
		i := slices.Index(c.idle, d)
		c.idle = slices.Delete(c.idle, i, i+1)
	}
}

// release ends the use of a file.
func (c *datasets) release(d *dataset) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if d.refs--; d.refs > 0 {
		return
	}
	d.last = time.Now()
	c.idle = append(c.idle, d)
	if len(c.idle) > maxIdle {
		c.drop(1)
	}
	if c.tick == nil {
		c.tick = time.AfterFunc(idleTime, c.sweep)
	}
}

// drop closes the first n idle files. The caller holds the lock.
func (c *datasets) drop(n int) {
	for _, d := range c.idle[:n] {
		delete(c.open, d.id)
		d.file.Close()
	}
	c.idle = slices.Delete(c.idle, 0, n)
}

// sweep closes files that were idle for long.
func (c *datasets) sweep() {
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

// close closes the idle files. Others must not be in use.
func (c *datasets) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.tick != nil {
		c.tick.Stop()
		c.tick = nil
	}
	c.drop(len(c.idle))
}

// count returns the number of open files.
func (c *datasets) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.open)
}
