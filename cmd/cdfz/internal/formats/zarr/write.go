// Package zarr writes netCDF files as folders that are Zarr stores, of Zarr v2 or v3, with
// consolidated metadata. The blocks of an archive become chunks as they are stored if
// stock readers know their codecs. Other chunks are encoded with codecs that they know. Blocks
// of lorenz are copied on request, for readers with the Python package cdfz.
//
//	f, err := archive.Open(ctx, "x.nc.cdfz", nil)
//	res, err := zarr.Write(ctx, "x.zarr", f, nil)
//
// Names and attributes are those of the archive's Zarr view (docs/FORMAT.md, annex B).
package zarr

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/filters"
	_ "github.com/cdfz-format/cdfz/filters/all" // blosc
	"github.com/cdfz-format/cdfz/internal/atomicfile"
)

// Options control Write. Nil and the zero value mean the defaults.
type Options struct {
	// Format is the version of Zarr, 2 or 3. 0 means 2.
	Format int
	// Filters are the filters of variables that are not copied as they are stored, as a user
	// would write them. Zarr's readers must know them (Known). Nil means blosc with shuffle
	// and zstd, which more readers know than filters one after the other: GDAL has no shuffle,
	// and neither has the core of v3. An empty chain means none. Stock readers do not know
	// lorenz. So blocks with lorenz are copied only if Filters has lorenz, too.
	Filters filters.Chain
	// Workers is the number of chunks encoded at the same time. 0 means GOMAXPROCS. Each
	// takes memory for three of the largest chunks.
	Workers int
	// Overwrite replaces an existing Zarr store. Other folders and files are never replaced.
	Overwrite bool
	// Rights, if not nil, is called for each complete file and folder of the store, to set its owner,
	// permissions and ACL. Until then only the owner of the store may use it.
	Rights func(f *os.File)
	// Changed, if not nil, is called when all is read. With its error nothing is written in the place of an
	// older store.
	Changed func() error
	// Progress, if not nil, is called with the number of bytes of values done so far, from
	// one goroutine at a time.
	Progress func(done int64)
}

// Result describes a written store.
type Result struct {
	Size   int64 // of all files, in bytes
	Chunks int64
	Copied int64 // chunks that are blocks of the archive as they are stored
	Lorenz bool  // whether readers need the Python package cdfz for an array
	// Codecs are those that plugins define, which readers need to have, too.
	Codecs []string
	// Missing are the numbers of variables that are left out, because their names cannot
	// be paths or they cannot be cut into chunks.
	Missing []int
	Omitted []archive.Omitted // attributes that are left out
}

// mostBeyond bounds the part of a variable beyond the end of the original, which is written as
// zeros, in bytes.
const mostBeyond = 256 << 20

// Known reports whether readers of a version of Zarr, 2 or 3, can decode blocks with this chain:
// for v2 if numcodecs or a plugin has all its codecs, for v3 if numcodecs has them and they work on
// bytes. For lorenz they need the Python package cdfz, which in v3 has it as the first codec only.
func Known(version int, c filters.Chain) bool {
	for i, f := range c {
		m, ok := filters.Lookup(f.ID)
		if !ok || m.Codec == nil || m.Codec.Package != "" && f.ID != filters.Lorenz {
			return false
		}
		if version == 3 && (newNames[m.Codec.ID] == "" || m.Codec.Origin != "" || f.ID == filters.Lorenz && i > 0) {
			return false
		}
	}
	return true
}

// hasLorenz reports whether readers of the chain need the Python package cdfz.
func hasLorenz(c filters.Chain) bool {
	return slices.ContainsFunc(c, func(f filters.Filter) bool { return f.ID == filters.Lorenz })
}

// Write writes the netCDF file in f, an archive or a classic file, as the folder dir, which
// appears complete or not at all. If a Write is killed, the next one to the same folder removes
// its remains. The error is fs.ErrExist if something is in the way, such as a store with other files in
// it. Other errors are those of
// filters, of reading f and of the file system.
func Write(ctx context.Context, dir string, f *archive.File, o *Options) (*Result, error) {
	if o == nil {
		o = &Options{}
	}
	version := o.Format
	if version == 0 {
		version = 2
	}
	if version != 2 && version != 3 {
		return nil, fmt.Errorf("zarr: expected format 2 or 3, found %d", version)
	}
	if !Known(version, o.Filters) {
		return nil, fmt.Errorf("zarr: expected filters that readers of Zarr v%d know, found %s", version, o.Filters)
	}
	z, err := f.Zarr(ctx, &archive.ChunkOptions{
		Keep:   func(c filters.Chain) bool { return Known(version, c) && (hasLorenz(o.Filters) || !hasLorenz(c)) },
		Beyond: mostBeyond,
		Filters: func(cdf3.Type) (filters.Chain, error) {
			if o.Filters != nil {
				return o.Filters, nil
			}
			return filters.Chain{{ID: filters.Blosc, Params: []uint32{0, 0, 0, 0, 5, 1, 5}}}, nil // zstd with shuffle
		}})
	if err != nil {
		return nil, err
	}
	may := func(dir string) bool { return o.Overwrite && isStore(dir) && atomicfile.HoldsOnly(dir, isKey) }
	w := &writer{version: version, o: o, arrays: map[string]*archive.Chunks{}}
	have := map[int]bool{}
	for path, c := range z.Arrays() {
		if version == 3 && path == newMetadata { // a file of the store has that name
			continue
		}
		w.arrays[path] = c
		have[c.Var().Num()] = true
		w.res.Lorenz = w.res.Lorenz || hasLorenz(c.Chain())
		for _, f := range c.Chain() {
			if m, _ := filters.Lookup(f.ID); m.Codec != nil && m.Codec.Origin != "" && !slices.Contains(w.res.Codecs, m.Codec.ID) {
				w.res.Codecs = append(w.res.Codecs, m.Codec.ID)
			}
		}
	}
	for i := range f.Vars() {
		if !have[i] {
			w.res.Missing = append(w.res.Missing, i)
		}
	}
	if w.res.Omitted, err = z.Omitted(ctx); err != nil {
		return nil, err
	}
	if version == 3 {
		w.omitFills(z)
	}
	err = atomicfile.WriteFolder(dir, may, o.Rights, func(root *os.Root) error {
		w.root = root
		return w.all(ctx, z)
	})
	if err != nil {
		return nil, err
	}
	return &w.res, nil
}

// omitFills adds _FillValue of other types than those of their variables, which Zarr v3 stores
// do not have.
func (w *writer) omitFills(z *archive.Zarr) {
	for path, c := range z.Arrays() {
		v := c.Var()
		a := v.Attr(fillAttr)
		if w.arrays[path] == nil || a == nil || a.Type == v.Type() && a.Len == 1 {
			continue
		}
		known := func(o archive.Omitted) bool { return o.Var == v.Num() && o.Attr == fillAttr }
		if !slices.ContainsFunc(w.res.Omitted, known) {
			w.res.Omitted = append(w.res.Omitted, archive.Omitted{Var: v.Num(), Attr: fillAttr, Why: "it is not one value of the variable's type"})
		}
	}
}

// writer writes the files of a store.
type writer struct {
	root    *os.Root
	arrays  map[string]*archive.Chunks // by path
	version int
	o       *Options
	res     Result
	size    atomic.Int64
	done    atomic.Int64
}

// all writes metadata and chunks.
func (w *writer) all(ctx context.Context, z *archive.Zarr) error {
	metadata := z.Metadata()
	if w.version == 3 {
		list, err := convert(z, slices.Sorted(maps.Keys(w.arrays)))
		if err != nil {
			return err
		}
		metadata = list
	}
	for name, b := range metadata {
		if err := w.file(name, b); err != nil {
			return err
		}
	}
	workers := w.o.Workers
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	g, group := errgroup.WithContext(ctx)
	g.SetLimit(workers)
	for _, path := range slices.Sorted(maps.Keys(w.arrays)) {
		c := w.arrays[path]
		if err := w.root.MkdirAll(path, 0o777); err != nil {
			return err
		}
		v := c.Var()
		each := v.Type().Size() // bytes of values in a chunk
		for _, n := range c.Shape() {
			each *= n
		}
		for n := range c.Len() {
			if group.Err() != nil {
				break
			}
			g.Go(func() error { return w.chunk(group, path, c, n, each) })
		}
		w.res.Chunks += c.Len()
		if c.Kept() {
			w.res.Copied += c.Len()
		}
	}
	if err := g.Wait(); err != nil {
		return err
	}
	w.res.Size = w.size.Load()
	if err := ctx.Err(); err != nil || w.o.Changed == nil {
		return err
	}
	return w.o.Changed()
}

// chunk writes chunk n of an array.
func (w *writer) chunk(ctx context.Context, path string, c *archive.Chunks, n, each int64) error {
	b, err := c.Zarr(ctx, nil, n)
	if err != nil {
		return err
	}
	key := path + "/" + string(c.AppendKey(nil, n))
	if w.version == 3 {
		key = newKey(key, len(c.Shape()))
		if err := w.root.MkdirAll(filepath.Dir(key), 0o777); err != nil {
			return err
		}
	}
	if err := w.file(key, b); err != nil {
		return err
	}
	done := w.done.Add(each)
	if w.o.Progress != nil {
		w.o.Progress(done)
	}
	return nil
}

func (w *writer) file(name string, b []byte) error {
	if d := filepath.Dir(name); d != "." {
		if err := w.root.MkdirAll(d, 0o777); err != nil {
			return err
		}
	}
	w.size.Add(int64(len(b)))
	return w.root.WriteFile(name, b, 0o666)
}

// isKey reports whether a path can be a key of a Zarr store of version 2 or 3: metadata, or a chunk, whose
// name is digits and points, or c if it is the only one of a scalar.
func isKey(name string) bool {
	switch base := path.Base(name); base {
	case ".zgroup", ".zarray", ".zattrs", ".zmetadata", newMetadata, "c":
		return true
	default:
		return strings.Trim(base, "0123456789.") == ""
	}
}

// isStore reports whether a folder is a Zarr store.
func isStore(dir string) bool {
	for _, name := range []string{".zgroup", newMetadata} {
		if st, err := os.Lstat(filepath.Join(dir, name)); err == nil && st.Mode().IsRegular() {
			return true
		}
	}
	return false
}
