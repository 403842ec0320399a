package archive_test

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/archive/volume"
	_ "github.com/cdfz-format/cdfz/remote"
	"github.com/cdfz-format/cdfz/slab"
)

// TestMember opens members of a volume by paths and URLs: archives, classic files, links, and what is no file.
func TestMember(t *testing.T) {
	ctx := context.Background()
	image, err := os.ReadFile("../testdata/classic/cdf2_climate.nc")
	require.NoError(t, err)
	var packed bytes.Buffer
	_, err = archive.Write(ctx, &packed, bytes.NewReader(image), int64(len(image)), &archive.WriteOptions{Name: "tas.nc"})
	require.NoError(t, err)
	var b bytes.Buffer
	w := volume.NewWriter(&b, time.Unix(1, 0))
	for _, m := range []struct {
		volume.Entry
		b []byte
	}{
		{Entry: volume.Entry{Path: "1987", Kind: volume.Folder}}, {volume.Entry{Path: "1987/tas.nc.cdfz", Kind: volume.File}, packed.Bytes()},
		{volume.Entry{Path: "classic.nc", Kind: volume.File}, image}, {Entry: volume.Entry{Path: "latest", Kind: volume.Symlink, Target: "1987"}},
		{Entry: volume.Entry{Path: "twin.nc.cdfz", Kind: volume.HardLink, Target: "1987/tas.nc.cdfz"}},
	} {
		m.Size = int64(len(m.b))
		require.NoError(t, w.Add(&m.Entry, bytes.NewReader(m.b)))
	}
	_, err = w.Finish()
	require.NoError(t, err)
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "x.tar"), 0o755)) // a folder that is named like a volume
	require.NoError(t, os.WriteFile(filepath.Join(dir, "x.tar/0001.tar"), b.Bytes(), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "x.tar/cut.tar"), b.Bytes()[:b.Len()-2000], 0o644))
	var requests atomic.Int64
	files := http.FileServer(http.Dir(dir))
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		files.ServeHTTP(w, r)
	}))
	defer srv.Close()
	for _, at := range []string{filepath.Join(dir, "x.tar/0001.tar"), filepath.Join(dir, "x.tar/cut.tar"), srv.URL + "/x.tar/0001.tar"} {
		for _, name := range []string{"1987/tas.nc.cdfz", "classic.nc", "latest/tas.nc.cdfz", "twin.nc.cdfz"} {
			f, err := archive.Open(ctx, at+"/"+name, nil)
			require.NoError(t, err, at)
			v, err := f.Var("tas")
			require.NoError(t, err)
			_, err = slab.Read[float32](ctx, v, slab.Sel{})
			require.NoError(t, err)
			got := make([]byte, len(image))
			_, err = f.Image().ReadAt(got, 0)
			require.NoError(t, err)
			require.True(t, bytes.Equal(image, got))
			require.NoError(t, f.Close())
		}
		_, err := archive.Open(ctx, at+"/none.nc", nil)
		require.ErrorIs(t, err, fs.ErrNotExist)
		_, err = archive.Open(ctx, at+"/1987", nil)
		require.ErrorContains(t, err, "is a folder")
	}
	_, err = archive.Open(ctx, filepath.Join(dir, "x.tar/none.tar/a.nc"), nil)
	require.ErrorIs(t, err, fs.ErrNotExist)
}

// TestMemberShared opens many members of one volume at a URL: its index is read once. A volume that was replaced meanwhile is
// opened again.
func TestMemberShared(t *testing.T) {
	ctx := context.Background()
	image, err := os.ReadFile("../testdata/classic/cdf1_bits.nc")
	require.NoError(t, err)
	pack := func(names ...string) []byte {
		var b bytes.Buffer
		w := volume.NewWriter(&b, time.Unix(1, 0))
		for _, name := range names {
			require.NoError(t, w.Add(&volume.Entry{Path: name, Kind: volume.File, Size: int64(len(image))}, bytes.NewReader(image)))
		}
		_, err := w.Finish()
		require.NoError(t, err)
		return b.Bytes()
	}
	var requests atomic.Int64
	var now atomic.Pointer[[]byte]
	first := pack("a.nc", "b.nc", "c.nc")
	now.Store(&first)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		b := *now.Load()
		w.Header().Set("ETag", fmt.Sprintf(`"%d"`, len(b)))
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(b))
	}))
	defer srv.Close()
	open := func(name string) (*archive.File, int64) {
		t.Helper()
		before := requests.Load()
		f, err := archive.Open(ctx, srv.URL+"/0001.tar/"+name, nil)
		require.NoError(t, err)
		return f, requests.Load() - before
	}
	a, n := open("a.nc")
	b, shared := open("b.nc")
	require.Less(t, shared, n)
	require.LessOrEqual(t, shared, int64(1))
	require.NoError(t, a.Close())
	require.NoError(t, a.Close())
	require.NoError(t, b.Close())
	c, shared := open("c.nc") // it was kept
	require.LessOrEqual(t, shared, int64(1))
	got := make([]byte, len(image))
	_, err = c.Image().ReadAt(got, 0)
	require.NoError(t, err)
	require.Equal(t, image, got)
	require.NoError(t, c.Close())

	second := pack("a.nc", "b.nc", "c.nc", "d.nc")
	now.Store(&second)
	for _, name := range []string{"d.nc", "a.nc"} {
		f, _ := open(name)
		_, err = f.Image().ReadAt(got, 0)
		require.NoError(t, err)
		require.Equal(t, image, got)
		require.NoError(t, f.Close())
	}
}
