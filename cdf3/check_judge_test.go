//go:build judge

package cdf3

import (
	"math"
	"math/rand"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ebitengine/purego"
	"github.com/stretchr/testify/require"
)

// libnetcdf calls netcdf-c (Debian's libnetcdf19, 4.9.0) without cgo.
type libnetcdf struct {
	create func(path string, mode int32, id *int32) int32
	dim    func(id int32, name string, n uint64, dim *int32) int32
	defVar func(id int32, name string, typ, rank int32, dims *int32, v *int32) int32
	attr   func(id, v int32, name string, typ int32, n uint64, values *byte) int32
	abort  func(id int32) int32
}

func startNetCDF(t *testing.T) *libnetcdf {
	lib, err := purego.Dlopen("libnetcdf.so.19", purego.RTLD_NOW)
	require.NoError(t, err)
	l := new(libnetcdf)
	purego.RegisterLibFunc(&l.create, lib, "nc_create")
	purego.RegisterLibFunc(&l.dim, lib, "nc_def_dim")
	purego.RegisterLibFunc(&l.defVar, lib, "nc_def_var")
	purego.RegisterLibFunc(&l.attr, lib, "nc_put_att")
	purego.RegisterLibFunc(&l.abort, lib, "nc_abort")
	return l
}

// accepts reports whether the library takes the dimensions, attributes and variables of a header.
func (l *libnetcdf) accepts(t *testing.T, h *Header) bool {
	mode := map[Version]int32{Classic: 0, Offset64: 0x200, Data64: 0x20}[h.Version]
	var id int32
	require.Zero(t, l.create(filepath.Join(t.TempDir(), "a.nc"), mode, &id))
	defer l.abort(id)
	var n int32
	attrs := func(v int32, list []Attr) bool {
		for _, a := range list {
			// The library replaces an attribute of the same name.
			if l.attr(id, v, a.Name, int32(a.Type), uint64(a.Len), &append(a.Values, 0)[0]) != 0 {
				return false
			}
		}
		return true
	}
	for _, d := range h.Dims {
		if l.dim(id, d.Name, uint64(d.Len), &n) != 0 {
			return false
		}
	}
	if !attrs(-1, h.Attrs) {
		return false
	}
	for _, v := range h.Vars {
		dims := []int32{}
		for _, d := range v.DimIDs {
			dims = append(dims, int32(d))
		}
		if l.defVar(id, v.Name, int32(v.Type), int32(len(dims)), &append(dims, 0)[0], &n) != 0 || !attrs(n, v.Attrs) {
			return false
		}
	}
	return true
}

// TestJudgeLayout compares what Layout and netcdf-c accept. A name with a NUL ends there for C.
func TestJudgeLayout(t *testing.T) {
	l := startNetCDF(t)
	names := []string{"", "a", "a/b", "/", "a ", " a", "-a", "+", "@", "9", "_", "a\n", "a\x7f", "\x01", "é", "a\u00a0", "a\u2028", "e\u0301",
		"a\xff", "\xc3", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xc0\x80", "\xef\xbf\xbf", strings.Repeat("x", 256), strings.Repeat("x", 257), strings.Repeat("é", 128), strings.Repeat("é", 129)}
	rnd := rand.New(rand.NewSource(1))
	for range 500 {
		b := make([]byte, 1+rnd.Intn(4))
		for i := range b {
			b[i] = byte(1 + rnd.Intn(255))
		}
		names = append(names, string(b))
	}
	accepted := 0
	for _, name := range names {
		h := &Header{Version: Classic, Dims: []Dim{{name, 2}}}
		want := l.accepts(t, h)
		require.Equal(t, want, h.Layout() == nil, "dimension %q: %v", name, h.Layout())
		h = &Header{Version: Classic, Vars: []Var{{Name: name, Type: Int}}}
		require.Equal(t, l.accepts(t, h), h.Layout() == nil, "variable %q", name)
		h = &Header{Version: Classic, Attrs: []Attr{{name, Char, 1, []byte("a")}}}
		require.Equal(t, l.accepts(t, h), h.Layout() == nil, "attribute %q", name)
		if want {
			accepted++
		}
	}
	require.Greater(t, accepted, 30)
	require.Less(t, accepted, len(names)-30)

	for _, v := range []Version{Classic, Offset64, Data64} {
		for _, n := range []int64{0, 1, math.MaxInt32 - 3, math.MaxInt32 - 2, math.MaxInt32, math.MaxUint32 - 3, math.MaxUint32 - 2, math.MaxUint32, 1 << 40} {
			h := &Header{Version: v, Dims: []Dim{{"x", n}}}
			require.Equal(t, l.accepts(t, h), h.Layout() == nil, "%v: dimension of %d", v, n)
		}
		for typ := Byte; typ <= UInt64; typ++ {
			a := Attr{"a", typ, 1, make([]byte, typ.Size())}
			for _, h := range []*Header{
				{Version: v, Vars: []Var{{Name: "v", Type: typ}}},
				{Version: v, Attrs: []Attr{a}},
			} {
				require.Equal(t, l.accepts(t, h), h.Layout() == nil, "%v: type %v: %v", v, typ, h.Layout())
			}
		}
		for _, h := range []*Header{
			{Dims: []Dim{{"t", 0}, {"u", 0}}},
			{Dims: []Dim{{"x", 1}, {"x", 2}}},
			{Vars: []Var{{Name: "x", Type: Int}, {Name: "x", Type: Int}}},
			{Dims: []Dim{{"x", 1}, {"t", 0}}, Vars: []Var{{Name: "x", Type: Int, DimIDs: []int{1}}, {Name: "y", Type: Int, DimIDs: []int{1, 0}}}},
			{Dims: []Dim{{"x", 1}}, Vars: []Var{{Name: "x", Type: Int, DimIDs: []int{1}}}},
			{Dims: []Dim{{"x", 1}}, Vars: []Var{{Name: "x", Type: Int, DimIDs: []int{-1}}}},
		} {
			h.Version = v
			require.Equal(t, l.accepts(t, h), h.Layout() == nil, "%+v: %v", h, h.Layout())
		}
	}
}
