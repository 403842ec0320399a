package joined

import (
	"context"
	"io/fs"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/slab"
)

// TestFS checks which files of a file system a description can name.
func TestFS(t *testing.T) {
	d := &folder{}
	d.put(t, "a.nc.cdfz", spec{n: 2}.build(t))
	d.put(t, "b.nc", spec{from: 2, n: 1}.build(t))
	fsys := fstest.MapFS{"x/y/a.nc.cdfz": {Data: d.files["a.nc.cdfz"]}, "x/b.nc": {Data: d.files["b.nc"]}, ".h.nc": {Data: d.files["b.nc"]}, "x/.h/b.nc": {Data: d.files["b.nc"]}}
	open := FS(fsys, "x/y/tas.ncml")
	desc, _, err := Build(context.Background(), []string{"a.nc.cdfz", "../b.nc"}, open, nil)
	require.NoError(t, err)
	require.Equal(t, "a.nc", desc.Members[0].Location)
	ds, err := Open(context.Background(), desc, open, nil)
	require.NoError(t, err)
	defer ds.Close()
	got, err := slab.Read[int16](context.Background(), ds.File().Array(0), slab.Sel{Start: []int64{0, 2}, Count: []int64{3, 1}})
	require.NoError(t, err)
	require.Equal(t, []int16{2, 9, 16}, got)
	for _, location := range []string{"../../../b.nc", "/x/b.nc", "https://example.org/b.nc", "../../.h.nc", "../.h/b.nc", ".", ".."} {
		_, _, err := open(context.Background(), location, nil)
		require.Error(t, err, location)
		require.NotErrorIs(t, err, archive.ErrNotArchive)
	}
	_, _, err = open(context.Background(), "c.nc", nil)
	require.True(t, notExist(err))
	_, _, err = FS(plain{fsys}, "x/tas.ncml")(context.Background(), "b.nc", nil)
	require.ErrorContains(t, err, "io.ReaderAt")
}

// plain is a file system whose files have no ReadAt.
type plain struct{ fstest.MapFS }

func (p plain) Open(name string) (fs.File, error) {
	f, err := p.MapFS.Open(name)
	return struct{ fs.File }{f}, err
}
