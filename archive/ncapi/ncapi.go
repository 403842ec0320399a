// Package ncapi opens cdfz archives and classic netCDF files as api.Group of
// github.com/batchatco/go-native-netcdf. Programs written for netcdf.Open can read
// archives by calling [Open] of this package instead.
//
// Results are those of netcdf.Open on the original file: the same Go types, shapes,
// order of names and errors. They differ if that library panics, refuses a file that
// netCDF-C reads, or returns values that the file does not hold. README.md lists these
// cases, and the test of this module finds no others.
//
// Groups and getters are safe for concurrent use, unlike those of the library.
//
// The package is a separate module, so that package archive does not depend on the
// library.
package ncapi

import (
	"context"
	"os"
	"slices"
	"sync"

	"github.com/batchatco/go-native-netcdf/netcdf/api"
	"github.com/batchatco/go-native-netcdf/netcdf/cdf"
	"github.com/batchatco/go-native-netcdf/netcdf/util"

	"github.com/cdfz-format/cdfz/archive"
)

// Open opens an archive or a classic netCDF file. The caller must close the group.
func Open(name string) (api.Group, error) { return OpenWith(context.Background(), name, nil) }

// OpenWith is Open with a context, which ends opening and not later reads, and with options, which
// may be nil. name may be a URL if the program imports package remote.
func OpenWith(ctx context.Context, name string, opts *archive.OpenOptions) (api.Group, error) {
	f, err := archive.Open(ctx, name, opts)
	if err != nil {
		return nil, openError(name, err)
	}
	g, err := New(f)
	if err != nil {
		f.Close()
		return nil, err
	}
	return g, nil
}

// New makes a group of an open file. Unless it fails, it takes ownership of the file,
// and closing the group closes the file.
//
// If two variables, or two attributes in one place, have the same name, New returns the
// library's error for this, because its maps hold one value per name.
func New(f *archive.File) (api.Group, error) {
	h := f.Header()
	g := &group{file: f, names: make([]string, len(h.Vars)), vars: make(map[string]int, len(h.Vars)),
		varAttrs: make([]*util.OrderedMap, len(h.Vars)), refs: 1}
	var err error
	if g.attrs, err = attributes(h.Attrs); err != nil {
		return nil, err
	}
	g.attrs.Hide("_NCProperties")
	for i := range h.Vars {
		name := cName(h.Vars[i].Name)
		if g.varAttrs[i], err = attributes(h.Vars[i].Attrs); err != nil {
			return nil, err
		}
		if _, ok := g.vars[name]; ok {
			return nil, cdf.ErrDuplicateVariable
		}
		g.names[i], g.vars[name] = name, i
	}
	return g, nil
}

// group is the only group of a file. It has been returned refs times.
type group struct {
	file     *archive.File
	attrs    *util.OrderedMap
	names    []string // of variables, in the order of the file
	vars     map[string]int
	varAttrs []*util.OrderedMap

	mu   sync.Mutex
	refs int
}

// Close implements api.Group.
func (g *group) Close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.refs == 0 {
		return
	}
	if g.refs--; g.refs == 0 {
		g.file.Close()
	}
}

// open returns os.ErrClosed once all users have closed the group.
func (g *group) open() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.refs == 0 {
		return os.ErrClosed
	}
	return nil
}

// Attributes implements api.Group.
func (g *group) Attributes() api.AttributeMap { return g.attrs }

// ListVariables implements api.Group.
func (g *group) ListVariables() []string { return slices.Clone(g.names) }

// ListSubgroups implements api.Group: classic files have none.
func (g *group) ListSubgroups() []string { return nil }

// GetGroup implements api.Group. The root is the only group.
func (g *group) GetGroup(name string) (api.Group, error) {
	if name != "" && name != "/" {
		return nil, cdf.ErrNotFound
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.refs == 0 {
		return nil, os.ErrClosed
	}
	g.refs++
	return g, nil
}

// ListTypes implements api.Group: classic files define no types.
func (g *group) ListTypes() []string { return []string{} }

// GetType implements api.Group.
func (g *group) GetType(string) (string, bool) { return "", false }

// GetGoType implements api.Group.
func (g *group) GetGoType(string) (string, bool) { return "", false }

// ListDimensions implements api.Group.
func (g *group) ListDimensions() []string {
	var names []string
	for _, d := range g.file.Header().Dims {
		names = append(names, cName(d.Name))
	}
	return names
}

// GetDimension implements api.Group. The unlimited dimension has length 0.
func (g *group) GetDimension(name string) (uint64, bool) {
	for _, d := range g.file.Header().Dims {
		if cName(d.Name) == name {
			return uint64(d.Len), true
		}
	}
	return 0, false
}
