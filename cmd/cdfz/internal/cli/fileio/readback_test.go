package fileio

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/archive/volume"
	"github.com/cdfz-format/cdfz/internal/atomicfile"
)

// TestReadBack checks that a volume which has changed between writing and reading is an error.
func TestReadBack(t *testing.T) {
	for _, at := range []int64{-1, 0, 1000, 2000, 3000, 5000} {
		name := filepath.Join(t.TempDir(), "0001.tar")
		f, err := atomicfile.Create(name, nil)
		require.NoError(t, err)
		defer f.Close()
		s := &Sink{Writer: f, file: f}
		w := volume.NewWriter(s, time.Unix(1_750_000_000, 0))
		defer w.Abort()
		require.NoError(t, w.Add(&volume.Entry{Path: "a.nc.cdfz", Kind: volume.File, Size: 2000}, bytes.NewReader(make([]byte, 2000))))
		size, err := w.Finish()
		require.NoError(t, err)
		if at >= 0 {
			_, err = f.WriteAt([]byte{0xa5}, at)
			require.NoError(t, err)
			require.ErrorIs(t, s.ReadBack(t.Context(), w, size), archive.ErrCorrupt)
			require.NoFileExists(t, name)
			continue
		}
		require.NoError(t, s.ReadBack(t.Context(), w, size))
		require.NoError(t, f.Commit())
		_, err = os.Stat(name)
		require.NoError(t, err)
	}
}
