package mountns

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFolders checks which folders are shown.
func TestFolders(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	for _, name := range []string{"a", "a/b", "ab", "c"} {
		require.NoError(t, os.Mkdir(filepath.Join(top, name), 0o777))
	}
	require.NoError(t, os.WriteFile(filepath.Join(top, "file"), nil, 0o666))
	require.NoError(t, os.Symlink("a", filepath.Join(top, "link")))
	t.Chdir(top)
	for _, c := range []struct{ in, want []string }{
		{nil, nil},
		{[]string{"."}, []string{""}},
		{[]string{"c", "a/b", "link", "ab", "c/."}, []string{"a", "ab", "c"}},
		{[]string{"link/b", filepath.Join(top, "c")}, []string{"a/b", "c"}},
		{[]string{"c", "."}, []string{""}},
	} {
		got, err := Folders(c.in)
		require.NoError(t, err)
		var want []string
		for _, name := range c.want {
			want = append(want, filepath.Join(top, name))
		}
		require.Equal(t, want, got, c.in)
	}
	for name, want := range map[string]error{"none": fs.ErrNotExist, "file": ErrFolder, "file/x": nil, string(filepath.Separator): ErrRoot} {
		_, err := Folders([]string{"a", name})
		var p *fs.PathError
		require.True(t, errors.As(err, &p), "%s: %v", name, err)
		require.Equal(t, name, p.Path)
		if want != nil {
			require.ErrorIs(t, err, want)
		}
	}
}
