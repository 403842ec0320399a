package unpack

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/dsnet/compress/bzip2"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"
	"github.com/ulikunitz/xz"

	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/fileio"
)

// writers compress as the programs of these formats do.
var writers = map[string]func(io.Writer) (io.WriteCloser, error){
	"gz":  func(w io.Writer) (io.WriteCloser, error) { return gzip.NewWriter(w), nil },
	"bz2": func(w io.Writer) (io.WriteCloser, error) { return bzip2.NewWriter(w, nil) },
	"xz":  func(w io.Writer) (io.WriteCloser, error) { return xz.NewWriter(w) },
	"zst": func(w io.Writer) (io.WriteCloser, error) { return zstd.NewWriter(w) },
}

// TestFormats opens files of every format, in memory and in a temporary file, in one and in
// two parts, whole and cut off.
func TestFormats(t *testing.T) {
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	require.NoError(t, err)
	defer root.Close()
	t.Setenv("TMPDIR", t.TempDir())
	for suffix, writer := range writers {
		for _, size := range []int{1 << 12, inMemory + 1} {
			image := append([]byte("CDF\x01"), make([]byte, size)...)
			for i := range size / 100 {
				image[4+100*i] = byte(i)
			}
			var b bytes.Buffer
			for _, part := range [][]byte{image[:size/2], image[size/2:]} {
				w, err := writer(&b)
				require.NoError(t, err)
				_, err = w.Write(part)
				require.NoError(t, err)
				require.NoError(t, w.Close())
			}
			name := filepath.Join(dir, "x.nc."+suffix)
			require.NoError(t, os.WriteFile(name, b.Bytes(), 0o600))
			reason, err := Select(fileio.Entry{Name: name, In: root})
			require.NoError(t, err)
			require.Empty(t, reason)
			require.Equal(t, filepath.Join(dir, "x.nc"), Name(name))
			in, err := fileio.OpenRegular(name, os.O_RDONLY)
			require.NoError(t, err)
			c, err := Open(t.Context(), in)
			require.NoError(t, err, suffix)
			sum := sha256.Sum256(b.Bytes())
			require.Equal(t, hex.EncodeToString(sum[:]), c.SHA256)
			require.EqualValues(t, b.Len(), c.Size)
			got := make([]byte, in.Size)
			_, err = in.R.ReadAt(got, 0)
			if err != io.EOF {
				require.NoError(t, err)
			}
			require.True(t, bytes.Equal(image, got), "%s: %d", suffix, size)
			require.NoError(t, in.Close())
			require.NoError(t, os.Truncate(name, int64(b.Len()-5)))
			in, err = fileio.OpenRegular(name, os.O_RDONLY)
			require.NoError(t, err)
			_, err = Open(t.Context(), in)
			require.Error(t, err)
			require.NoError(t, in.Close())
		}
	}
	name := filepath.Join(dir, "y.gz")
	require.NoError(t, os.WriteFile(name, []byte("\x1f\x8bnot"), 0o600))
	reason, err := Select(fileio.Entry{Name: name, In: root})
	require.NoError(t, err)
	require.Equal(t, "compressed with gzip, not a classic netCDF file inside", reason)
}

// TestBomb refuses a file that decompresses to far more than its length.
func TestBomb(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	name := filepath.Join(t.TempDir(), "x.nc.zst")
	f, err := os.Create(name)
	require.NoError(t, err)
	w, err := zstd.NewWriter(f)
	require.NoError(t, err)
	part := append([]byte("CDF\x01"), make([]byte, 1<<20-4)...)
	for range 128 {
		_, err := w.Write(part)
		require.NoError(t, err)
		clear(part)
	}
	require.NoError(t, w.Close())
	st, err := f.Stat()
	require.NoError(t, err)
	require.NoError(t, f.Close())
	require.Less(t, mostOf(st.Size()), int64(128<<20))
	in, err := fileio.OpenRegular(name, os.O_RDONLY)
	require.NoError(t, err)
	defer in.Close()
	_, err = Open(t.Context(), in)
	require.ErrorContains(t, err, "expected at most")
}
