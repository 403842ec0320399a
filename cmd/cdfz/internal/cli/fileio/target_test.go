package fileio

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/protect"
)

// TestOneTarget writes a target while another file of the run is writing it, as x.nc and
// x.nc.gz may do. The second would overwrite the first with -f, whose source may be deleted.
func TestOneTarget(t *testing.T) {
	r := newRun()
	r.rules.Force = true
	name := filepath.Join(t.TempDir(), "x.nc.cdfz")
	begin := func() (*Sink, error) { return r.target(name, &Input{}).Sink(t.Context()) }
	s, err := begin()
	require.NoError(t, err)
	s.Abort() // it was not made, so another file may have it
	s, err = begin()
	require.NoError(t, err)
	_, err = begin()
	require.ErrorIs(t, err, errTwice)
	require.NoError(t, s.Commit(t.Context()))
	s.Abort()
	_, err = begin()
	require.ErrorIs(t, err, errTwice)
}

// TestOverwrites checks that -f overwrites one kind of file, also if another one gets the name while the
// target is being written.
func TestOverwrites(t *testing.T) {
	kind := &protect.Kind{Name: "a list", Check: func(r io.ReaderAt, size int64) error {
		b := make([]byte, 4)
		if _, err := r.ReadAt(b, 0); err != nil || string(b) != "list" {
			return errors.New("found another file")
		}
		return nil
	}}
	name := filepath.Join(t.TempDir(), "x")
	write := func(old, meanwhile string) error {
		r := newRun()
		r.rules.Force, r.rules.ReplaceOther, r.rules.Overwrites = true, true, kind
		require.NoError(t, os.WriteFile(name, []byte(old), 0o666))
		s, err := r.target(name, nil).Sink(t.Context())
		require.NoError(t, err)
		defer s.Abort()
		_, err = s.Write([]byte("list of new things"))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(name, []byte(meanwhile), 0o666))
		return s.Commit(t.Context())
	}
	require.NoError(t, write("list 1", "list 2"))
	require.NoError(t, write("", ""))
	require.EqualError(t, write("list 1", "data"), name+": -f overwrites only a list: found another file")
	b, err := os.ReadFile(name)
	require.NoError(t, err)
	require.Equal(t, "data", string(b))
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
		s := newTaken()
		for i, path := range same {
			require.Equal(t, i == 0, s.take(path), path)
		}
		s.free(same[len(same)-1])
		require.NoError(t, os.MkdirAll("real/new/sub", 0o777))
		require.True(t, s.take(same[0]))
	}
}
