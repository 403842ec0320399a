//go:build judge

package spec

import (
	"sync"
	"testing"
	"unsafe"

	"github.com/ebitengine/purego"

	"github.com/cdfz-format/cdfz/filters"
)

// libnetcdf calls the parsers of netcdf-c (Debian's libnetcdf19, 4.9.0) without cgo.
type libnetcdf struct {
	parse     func(text string, id *uint32, n *uintptr, params **uint32) int32
	parseList func(text string, format *int32, n *uintptr, list ***cFilter) int32
	free      func(unsafe.Pointer)
}

// cFilter is struct NC_H5_Filterspec of netcdf_filter.h.
type cFilter struct {
	id     uint32
	n      uintptr
	params *uint32
}

var loadNetCDF = sync.OnceValues(func() (*libnetcdf, error) {
	lib, err := purego.Dlopen("libnetcdf.so.19", purego.RTLD_NOW)
	if err != nil {
		return nil, err
	}
	l := new(libnetcdf)
	purego.RegisterLibFunc(&l.parse, lib, "ncaux_h5filterspec_parse")
	purego.RegisterLibFunc(&l.parseList, lib, "ncaux_h5filterspec_parselist")
	purego.RegisterLibFunc(&l.free, purego.RTLD_DEFAULT, "free")
	return l, nil
})

// startNetCDF loads the library. A missing judge is a failure.
func startNetCDF(t *testing.T) *libnetcdf {
	t.Helper()
	l, err := loadNetCDF()
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// filter is ncaux_h5filterspec_parse. ok is false if the library reports an error.
func (l *libnetcdf) filter(text string) (f filters.Filter, ok bool) {
	var n uintptr
	var params *uint32
	if l.parse(text, &f.ID, &n, &params) != 0 {
		return f, false
	}
	f.Params = l.take(params, n)
	return f, true
}

// chain is ncaux_h5filterspec_parselist.
func (l *libnetcdf) chain(text string) (c filters.Chain, ok bool) {
	var format int32
	var n uintptr
	var list **cFilter
	if l.parseList(text, &format, &n, &list) != 0 {
		return nil, false
	}
	for _, f := range unsafe.Slice(list, n) {
		c = append(c, filters.Filter{ID: f.id, Params: l.take(f.params, f.n)})
		l.free(unsafe.Pointer(f))
	}
	l.free(unsafe.Pointer(list))
	return c, true
}

// take copies the parameters and frees those of the library.
func (l *libnetcdf) take(params *uint32, n uintptr) []uint32 {
	if params == nil {
		return nil
	}
	defer l.free(unsafe.Pointer(params))
	return append([]uint32(nil), unsafe.Slice(params, n)...)
}
