package fileio

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive"
)

// TestOneTarget writes a target while another file of the run is writing it, as x.nc and
// x.nc.gz may do. The second would overwrite the first with -f, whose source may be deleted.
func TestOneTarget(t *testing.T) {
	a := New(strings.NewReader(""), io.Discard, io.Discard)
	a.Force = true
	name := filepath.Join(t.TempDir(), "x.nc.cdfz")
	none := func(*archive.FileOptions) error { return nil }
	broken := errors.New("broken")
	require.ErrorIs(t, a.WriteTo(t.Context(), name, &Input{}, func(*archive.FileOptions) error { return broken }), broken)
	require.NoError(t, a.WriteTo(t.Context(), name, &Input{}, func(*archive.FileOptions) error {
		require.ErrorIs(t, a.WriteTo(t.Context(), name, &Input{}, none), errTwice)
		return nil
	}))
	require.ErrorIs(t, a.WriteTo(t.Context(), name, &Input{}, none), errTwice)
}

// TestOnePlace takes a target by several paths to its folder, which may be missing.
func TestOnePlace(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	require.NoError(t, os.Mkdir("real", 0o777))
	paths := []string{"x.nc.cdfz", "./x.nc.cdfz", filepath.Join(dir, "x.nc.cdfz"), "real/../x.nc.cdfz"}
	new := []string{"real/new/sub/x.nc.cdfz", filepath.Join(dir, "real", "new", "sub", "x.nc.cdfz")}
	if os.Symlink("real", "link") == nil {
		require.NoError(t, os.Symlink("..", "real/up"))
		require.NoError(t, os.Mkdir("real/deep", 0o777))
		require.NoError(t, os.Symlink("real/deep", "deep"))
		paths = append(paths, "link/up/x.nc.cdfz", "link/../x.nc.cdfz", "deep/../../x.nc.cdfz")
		new = append(new, "link/new/sub/x.nc.cdfz")
	}
	for _, same := range [][]string{paths, new} {
		s := newTargets()
		for i, path := range same {
			require.Equal(t, i == 0, s.take(path), path)
		}
		s.free(same[len(same)-1])
		require.NoError(t, os.MkdirAll("real/new/sub", 0o777))
		require.True(t, s.take(same[0]))
	}
}
