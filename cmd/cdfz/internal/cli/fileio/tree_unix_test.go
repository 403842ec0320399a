//go:build unix

package fileio

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/internal/nofollow"
)

// swapTest is a folder with a/x.nc, a folder outside with the same names, and a run.
type swapTest struct {
	t                  *testing.T
	dir, a, moved, out string
	run                *testRun
}

func newSwapTest(t *testing.T) *swapTest {
	base := t.TempDir()
	s := &swapTest{t: t, dir: filepath.Join(base, "dir"), out: filepath.Join(base, "outside"), run: newRun()}
	s.a, s.moved = filepath.Join(s.dir, "a"), filepath.Join(base, "moved")
	for _, top := range []string{s.dir, s.out} {
		require.NoError(t, os.MkdirAll(filepath.Join(top, "a"), 0o777))
		require.NoError(t, os.WriteFile(filepath.Join(top, "a", "x.nc"), []byte("CDF\x01"+top), 0o666))
	}
	return s
}

func (s *swapTest) find(args ...string) List {
	files := s.run.Find(s.t.Context(), args, Classic, func(name string, err error) { require.NoError(s.t, err, name) })
	s.t.Cleanup(files.Close)
	return files
}

// swap moves the folder away and puts a link to the one outside in its place.
func (s *swapTest) swap() {
	require.NoError(s.t, os.Rename(s.a, s.moved))
	require.NoError(s.t, os.Symlink(filepath.Join(s.out, "a"), s.a))
}

func (s *swapTest) swapBack() {
	require.NoError(s.t, os.Remove(s.a))
	require.NoError(s.t, os.Rename(s.moved, s.a))
}

func list(t *testing.T, dir string) []string {
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	names := []string{}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// TestSwapBeforeOpen swaps a folder after it was walked.
func TestSwapBeforeOpen(t *testing.T) {
	for _, link := range []bool{false, true} {
		s := newSwapTest(t)
		arg := s.dir
		if link { // FILE itself may be a link
			arg = filepath.Join(filepath.Dir(s.dir), "link")
			require.NoError(t, os.Symlink(s.dir, arg))
		}
		files := s.find(arg)
		require.Len(t, files.Files, 1)
		s.swap()
		_, err := s.run.OpenFile(t.Context(), files.Files[0])
		require.ErrorIs(t, err, nofollow.ErrLink)
		s.run.dest.Name = ""
		_, err = s.run.OpenToChange(t.Context(), files.Files[0])
		require.ErrorIs(t, err, nofollow.ErrLink)
		s.swapBack()
		in, err := s.run.OpenFile(t.Context(), files.Files[0])
		require.NoError(t, err)
		b := make([]byte, in.Size)
		_, err = in.R.ReadAt(b, 0)
		require.NoError(t, err)
		require.Equal(t, "CDF\x01"+s.dir, string(b))
		require.NoError(t, in.Close())

		// A link to a file takes the place of the file, and then a link to a file beside it.
		x := filepath.Join(s.a, "x.nc")
		require.NoError(t, os.Rename(x, filepath.Join(s.a, "y.nc")))
		for _, to := range []string{filepath.Join(s.out, "a", "x.nc"), "y.nc"} {
			require.NoError(t, os.Symlink(to, x))
			_, err = s.run.OpenFile(t.Context(), files.Files[0])
			require.Error(t, err)
			require.NoError(t, os.Remove(x))
		}
	}
}

// TestSwapBeforeTarget swaps the folder of an open source: its target is made beside it, and its
// folder is the one in which it was opened.
func TestSwapBeforeTarget(t *testing.T) {
	s := newSwapTest(t)
	files := s.find(s.dir)
	in, err := s.run.OpenFile(t.Context(), files.Files[0])
	require.NoError(t, err)
	defer in.Close()
	s.swap()
	path := filepath.Join(s.a, "x.nc.cdfz")
	f, err := s.run.target(path, in).Sink(t.Context())
	require.NoError(t, err)
	defer f.Abort()
	require.NoError(t, f.Commit(t.Context()))
	require.Equal(t, []string{"x.nc", "x.nc.cdfz"}, list(t, s.moved))
	require.Equal(t, []string{"x.nc"}, list(t, filepath.Join(s.out, "a")))
	dir, err := s.run.target(path, in).Folder()
	require.NoError(t, err)
	defer dir.Close()
	_, err = dir.Lstat("x.nc.cdfz")
	require.NoError(t, err)
	source, base, done, err := in.Folder()
	require.NoError(t, err)
	defer done()
	require.NoError(t, nofollow.Is(source, base, in.Stat))
}

// TestSwapTarget swaps folders below -o DIR/ and DIR itself.
func TestSwapTarget(t *testing.T) {
	s := newSwapTest(t)
	targets := filepath.Join(filepath.Dir(s.dir), "targets")
	s.run.dest.Name = filepath.Join(filepath.Dir(s.dir), "link") + string(filepath.Separator)
	require.NoError(t, os.Mkdir(targets, 0o777))
	require.NoError(t, os.Symlink(targets, filepath.Clean(s.run.dest.Name)))
	create := func(name string) error {
		path, err := s.run.PathOf(File{Rel: filepath.Join("a", name)}, func(s string) (string, error) { return s, nil })
		require.NoError(t, err)
		f, err := s.run.target(path, &Input{}).Sink(t.Context())
		if err != nil {
			return err
		}
		defer f.Abort()
		return f.Commit(t.Context())
	}
	require.NoError(t, create("1")) // -o may be a link
	require.Equal(t, []string{"1"}, list(t, filepath.Join(targets, "a")))
	s.a = filepath.Join(targets, "a")
	s.swap()
	require.ErrorIs(t, create("2"), nofollow.ErrLink)
	s.swapBack()
	require.NoError(t, create("3"))
	require.NoError(t, os.Remove(filepath.Clean(s.run.dest.Name)))
	require.NoError(t, os.Symlink(s.out, filepath.Clean(s.run.dest.Name)))
	require.NoError(t, create("4"))
	require.Equal(t, []string{"1", "3", "4"}, list(t, s.a))
	require.Equal(t, []string{"x.nc"}, list(t, filepath.Join(s.out, "a")))
}

// TestManyTrees has more folders than stay open. One is replaced.
func TestManyTrees(t *testing.T) {
	s := newSwapTest(t)
	var args []string
	for i := range keptOpen + 2 {
		dir := filepath.Join(s.dir, fmt.Sprint(i))
		require.NoError(t, os.Mkdir(dir, 0o777))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "x.nc"), []byte("CDF\x01"), 0o666))
		args = append(args, dir)
	}
	files := s.find(args...)
	require.Len(t, files.Files, keptOpen+2)
	require.Len(t, files.trees, keptOpen)
	last := args[keptOpen+1]
	require.NoError(t, os.Rename(last, s.moved))
	require.NoError(t, os.Symlink(filepath.Join(s.out, "a"), last))
	for i, j := range files.Files {
		in, err := s.run.OpenFile(t.Context(), j)
		if i == keptOpen+1 {
			require.ErrorIs(t, err, nofollow.ErrReplaced)
			continue
		}
		require.NoError(t, err)
		require.NoError(t, in.Close())
	}
}

// TestTakesBack walks a folder in which a program was killed while it deleted a file.
func TestTakesBack(t *testing.T) {
	s := newSwapTest(t)
	aside := filepath.Join(s.a, ".x.nc.cdfz-del00000001")
	require.NoError(t, os.Rename(filepath.Join(s.a, "x.nc"), aside))
	files := s.find(s.dir)
	require.Empty(t, files.Files)
	require.EqualValues(t, 1, files.Skipped())
	s.run.TakesBack = true
	files = s.find(s.dir)
	require.Len(t, files.Files, 1)
	require.Equal(t, filepath.Join(s.a, "x.nc"), files.Files[0].Name)
	in, err := s.run.OpenFile(t.Context(), files.Files[0])
	require.NoError(t, err)
	require.NoError(t, in.Close())
}
