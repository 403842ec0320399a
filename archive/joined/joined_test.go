package joined

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/internal/kept"
	"github.com/cdfz-format/cdfz/slab"
)

// keep sets the number of members without users that are kept open.
func keep(t *testing.T, n int) {
	old := open
	t.Cleanup(func() { open = old })
	open = sync.OnceValue(func() *kept.Pool[memberKey, *member] { return kept.New[memberKey, *member](kept.Limits{Idle: n}) })
}

// TestTogether checks that all datasets together keep a bounded number of members open, and that a closed one keeps
// none.
func TestTogether(t *testing.T) {
	keep(t, 3)
	d := &folder{}
	var names []string
	for i := range 6 {
		names = append(names, string(rune('a'+i))+".nc")
		d.put(t, names[i], spec{from: i, n: 1}.build(t))
	}
	var sets []*Dataset
	for range 5 {
		ds := d.join(t, nil, names...)
		_, err := slab.Read[int16](context.Background(), ds.File().Array(0), slab.Sel{})
		require.NoError(t, err)
		sets = append(sets, ds)
		require.LessOrEqual(t, d.open, 3+len(sets)) // the first one of each
	}
	for i, ds := range sets {
		require.NoError(t, ds.Close())
		require.NoError(t, ds.Close(), "again")
		require.LessOrEqual(t, d.open, 3+len(sets)-i-1)
		_, _ = slab.Read[int16](context.Background(), ds.File().Array(0), slab.Sel{}) // may fail, and keeps nothing open
	}
	require.Zero(t, d.open)
}

// TestExisting joins files along their time, and compares the result with the file of all times.
func TestExisting(t *testing.T) {
	for name, whole := range map[string]spec{
		"records": {n: 12}, "fixed": {n: 12, fixed: true}, "one variable": {n: 12, single: true}, "CDF-5": {n: 12, version: cdf3.Data64}, "CDF-1": {n: 12, version: cdf3.Classic},
	} {
		t.Run(name, func(t *testing.T) {
			d := &folder{}
			var names []string
			for i, part := range [][2]int{{0, 3}, {3, 1}, {4, 5}, {9, 0}, {9, 3}} {
				s := whole
				if s.from, s.n = part[0], part[1]; s.n == 0 && s.fixed {
					continue
				}
				location := string(rune('a'+i)) + ".nc"
				if i%2 == 0 {
					location += archive.Suffix
				}
				d.put(t, location, s.build(t))
				names = append(names, location)
			}
			keep(t, 1)
			ds := d.join(t, &BuildOptions{Options: Options{Workers: 3}, Dim: "time"}, names...)
			sameFile(t, whole.build(t), ds)
			require.NoError(t, ds.Close())
			require.Zero(t, d.open)
			require.LessOrEqual(t, d.most, 5) // the first, one without users, and three
		})
	}
}

// TestNew joins files along a new dimension.
func TestNew(t *testing.T) {
	d := &folder{}
	var names []string
	for i := range 4 {
		location := string(rune('a'+i)) + ".nc"
		if i%2 == 1 {
			location += archive.Suffix
		}
		d.put(t, location, spec{n: 3, times: []float64{0, 1, 2}, from: 10 * i}.build(t))
		names = append(names, location)
	}
	ds := d.join(t, &BuildOptions{Dim: "run", New: true}, names...)
	h := ds.File().Header()
	require.Equal(t, "run", h.Dims[0].Name)
	require.EqualValues(t, 4, h.NumRecs)
	f := ds.File()
	sameFile(t, imageOf(t, f), ds)
	tas, err := f.Var("tas")
	require.NoError(t, err)
	require.Equal(t, []int64{4, 3, 3, 5}, tas.Shape())
	got, err := slab.Read[float32](context.Background(), tas, slab.Sel{Start: []int64{3, 2, 0, 1}, Count: []int64{2, 2, 1, 2}, Stride: []int64{-2, -1, 1, 3}})
	require.NoError(t, err)
	require.Equal(t, []float32{3201, 3204, 3101, 3104, 1201, 1204, 1101, 1104}, got)
	time, err := f.Var("time")
	require.NoError(t, err)
	require.Equal(t, []int64{3}, time.Shape())
	require.NoError(t, ds.Close())
}

// imageOf returns the bytes of an image.
func imageOf(t *testing.T, f *archive.File) []byte {
	var b bytes.Buffer
	require.NoError(t, f.Image().Copy(context.Background(), &b, nil))
	return b.Bytes()
}

// sameFile compares a dataset with a classic file.
func sameFile(t *testing.T, want []byte, ds *Dataset) {
	t.Helper()
	ctx := context.Background()
	f := ds.File()
	image := imageOf(t, f)
	w, err := archive.New(ctx, bytes.NewReader(want), int64(len(want)), nil)
	require.NoError(t, err)
	require.Equal(t, w.Header(), f.Header())
	require.Equal(t, want, image)
	require.NoError(t, iotest.TestReader(io.NewSectionReader(ds.File().Image(), 0, ds.File().Image().Size()), want))
	r := rand.New(rand.NewPCG(1, 2))
	for i, v := range f.Vars() {
		other := w.Array(i)
		require.Equal(t, other.Shape(), v.Shape())
		b := make([]byte, len(want))
		n, err := v.Values().ReadAt(b, 0)
		require.ErrorIs(t, err, io.EOF)
		c := make([]byte, len(want))
		m, err := other.Values().ReadAt(c, 0)
		require.ErrorIs(t, err, io.EOF)
		require.Equal(t, c[:m], b[:n])
		for range 50 {
			s := randomSel(r, v.Shape())
			require.Equal(t, doubles(t, other, s), doubles(t, v, s), "%s %v", v.Name(), s)
		}
		walked := 0
		if v.Type() == cdf3.Float {
			require.NoError(t, slab.Walk(ctx, v, func(_, _ []int64, values []float32) error {
				walked += len(values)
				return nil
			}))
			require.EqualValues(t, walked*4, n)
		}
	}
}

// doubles reads a selection of any type.
func doubles(t *testing.T, a slab.Array, s slab.Sel) []float64 {
	n, err := s.Len(a.Shape())
	require.NoError(t, err)
	values := make([]float64, n)
	if a.Type() != cdf3.Char {
		require.NoError(t, slab.Convert(context.Background(), a, values, s))
		return values
	}
	text := make([]uint8, n)
	require.NoError(t, slab.ReadInto(context.Background(), a, text, s))
	for i, c := range text {
		values[i] = float64(c)
	}
	return values
}

// randomSel returns a valid selection.
func randomSel(r *rand.Rand, shape []int64) slab.Sel {
	var s slab.Sel
	for _, n := range shape {
		start, stride := r.Int64N(n), 1+r.Int64N(n)
		most := (n-1-start)/stride + 1
		if r.IntN(2) == 0 {
			stride = -stride
			most = start/-stride + 1
		}
		s.Start, s.Stride, s.Count = append(s.Start, start), append(s.Stride, stride), append(s.Count, 1+r.Int64N(most))
	}
	switch r.IntN(6) {
	case 0:
		s.Count = nil
	case 1:
		return slab.Sel{}
	}
	return s
}

// TestLazy checks that opening a dataset with known lengths opens one member.
func TestLazy(t *testing.T) {
	d := &folder{}
	var names []string
	for i := range 50 {
		location := string(rune('A'+i)) + ".nc"
		d.put(t, location, spec{from: i, n: 1}.build(t))
		names = append(names, location)
	}
	desc, _, err := Build(context.Background(), names, d.opener, nil)
	require.NoError(t, err)
	d.opened = 0
	ds, err := Open(context.Background(), desc, d.opener, nil)
	require.NoError(t, err)
	require.LessOrEqual(t, d.opened, 2) // the first one, for its structure and for its values
	q := ds.File().Array(0)
	got, err := slab.Read[int16](context.Background(), q, slab.Sel{Start: []int64{49, 0}, Count: []int64{1, 3}})
	require.NoError(t, err)
	require.Equal(t, []int16{343, 344, 345}, got)
	require.LessOrEqual(t, d.opened, 3)
	require.NoError(t, ds.Close())

	for i := range desc.Members {
		desc.Members[i].Len = -1
	}
	ds, err = Open(context.Background(), desc, d.opener, &Options{Workers: 2})
	require.NoError(t, err)
	require.EqualValues(t, 50, ds.File().Header().NumRecs)
	require.NoError(t, ds.Close())
	require.Zero(t, d.open)
}

// TestReplaced checks that members that are no longer as described are named.
func TestReplaced(t *testing.T) {
	d := &folder{}
	d.put(t, "a.nc.cdfz", spec{n: 2}.build(t))
	d.put(t, "b.nc.cdfz", spec{from: 2, n: 2}.build(t))
	desc, _, err := Build(context.Background(), []string{"a.nc.cdfz", "b.nc.cdfz"}, d.opener, nil)
	require.NoError(t, err)
	require.Equal(t, "b.nc", desc.Members[1].Location)
	read := func() error {
		ds, err := Open(context.Background(), desc, d.opener, nil)
		require.NoError(t, err)
		defer ds.Close()
		_, err = slab.Read[int16](context.Background(), ds.File().Array(0), slab.Sel{})
		return err
	}
	require.NoError(t, read())
	for text, s := range map[string]spec{
		"b.nc: was replaced since it was joined: expected a netCDF file of": {from: 2, n: 3},
		"b.nc: was replaced since it was joined: expected a netCDF file wi": {from: 3, n: 2},
	} {
		d.put(t, "b.nc.cdfz", s.build(t))
		err := read()
		require.ErrorIs(t, err, ErrDiffers)
		require.ErrorContains(t, err, text)
	}
	delete(d.files, "b.nc.cdfz")
	require.ErrorContains(t, read(), "joined: member b.nc: ")
	desc.Members[1].Size, desc.Members[1].SHA256, desc.Members[1].Sample = -1, "", ""
	d.put(t, "b.nc", spec{from: 2, n: 3}.build(t))
	require.ErrorContains(t, read(), `b.nc: expected 2 indices of dimension "time", as described, found 3`)
	d.put(t, "b.nc", spec{from: 2, n: 2, single: true}.build(t))
	require.ErrorContains(t, read(), `b.nc: variable "time": expected this variable, as in a.nc, found none`)
}

// TestCallerError checks that an error of the caller's function is returned as it is.
func TestCallerError(t *testing.T) {
	d := &folder{}
	d.put(t, "a.nc.cdfz", spec{n: 2}.build(t))
	d.put(t, "b.nc", spec{from: 2, n: 2}.build(t))
	ds := d.join(t, nil, "a.nc.cdfz", "b.nc")
	defer ds.Close()
	own := errors.New("enough")
	for i := range ds.File().Header().Vars {
		if b, ok := ds.File().Array(i).Values().(slab.Blocks); ok {
			require.Equal(t, own, b.EachBlock(context.Background(), slab.Sel{}, func(slab.Block) error { return own }))
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := slab.Read[int16](ctx, ds.File().Array(0), slab.Sel{})
	require.ErrorIs(t, err, context.Canceled)
	require.Nil(t, ds.File().Array(99))
	require.True(t, slices.ContainsFunc(ds.File().Header().Vars, func(v cdf3.Var) bool { return v.Name == "height" }))
}
