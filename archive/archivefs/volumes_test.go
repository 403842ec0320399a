package archivefs

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/archive/volume"
)

// TestVolumes shows volumes as folders, with the archives in them as originals.
func TestVolumes(t *testing.T) {
	image, err := os.ReadFile("../../testdata/classic/cdf1_bits.nc")
	require.NoError(t, err)
	var packed bytes.Buffer
	_, err = archive.Write(t.Context(), &packed, bytes.NewReader(image), int64(len(image)), &archive.WriteOptions{Name: "tas.nc"})
	require.NoError(t, err)
	dir := t.TempDir()
	var b bytes.Buffer
	w := volume.NewWriter(&b, time.Unix(1, 0))
	for _, m := range []struct {
		path string
		b    []byte
	}{{"1987", nil}, {"1987/tas.nc.cdfz", packed.Bytes()}, {"note.txt", []byte("text")}, {"x.tar", []byte("not a volume")}} {
		e := &volume.Entry{Path: m.path, Kind: volume.File, Mode: 0o644, Size: int64(len(m.b)), Modified: time.Unix(5, 0)}
		if m.b == nil {
			e.Kind, e.Mode = volume.Folder, 0o755
		}
		require.NoError(t, w.Add(e, bytes.NewReader(m.b)))
	}
	_, err = w.Finish()
	require.NoError(t, err)
	require.NoError(t, os.Mkdir(filepath.Join(dir, "sub"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "sub/0001.tar"), b.Bytes(), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "other.tar"), []byte("other"), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "sub/cut.tar"), b.Bytes()[:b.Len()-2000], 0o644))
	root, _, err := OpenRoot(dir)
	require.NoError(t, err)
	defer root.Close()
	var reported []string
	fsys := Volumes(root, func(name string, err error) { reported = append(reported, name) })
	require.NoError(t, fstest.TestFS(fsys, "sub/0001.tar/1987/tas.nc.cdfz", "sub/0001.tar/note.txt", "other.tar", "sub/cut.tar/x.tar"))
	require.Equal(t, []string{"sub/cut.tar"}, reported)

	v := New(fsys, nil)
	defer v.Close()
	got, err := fs.ReadFile(v, "sub/0001.tar/1987/tas.nc")
	require.NoError(t, err)
	require.Equal(t, image, got)
	list, err := v.ReadDir("sub/0001.tar")
	require.NoError(t, err)
	require.Len(t, list, 3)
	_, err = fs.Stat(v, "sub/0001.tar/none")
	require.ErrorIs(t, err, fs.ErrNotExist)
	f, err := v.Acquire("sub/0001.tar/1987/tas.nc.cdfz")
	require.NoError(t, err)
	part := make([]byte, 10)
	_, err = f.NetCDF.Image().ReadAt(part, 3)
	require.NoError(t, err)
	require.Equal(t, image[3:13], part)
	v.Release(f)
}
