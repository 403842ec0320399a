package hdf5plugin

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/filters"
)

// TestSearchRows checks the rows L1 to L3, L9 and L12 of CONTRIBUTING.md that need no
// library.
func TestSearchRows(t *testing.T) {
	list := func(dirs ...string) string { return strings.Join(dirs, string(filepath.ListSeparator)) }
	t.Run("L1", func(t *testing.T) {
		for _, c := range []struct {
			given         []string
			path, preload string
			want          []string
		}{
			{nil, "", "", nil},
			{nil, list("/a", "/b"), "", []string{"/a", "/b"}},
			{nil, list("/a", "", "/b", ""), "", []string{"/a", "/b"}},
			{[]string{"/c", list("/d", "/e")}, list("/a", "/c"), "", []string{"/c", "/d", "/e", "/a"}},
			{nil, "/a", "::", nil},
			{[]string{"/c"}, "/a", "::", []string{"/c"}},
			{[]string{list("/c", Default)}, "", "", append([]string{"/c"}, DefaultFolders()...)},
			{nil, Default, "", DefaultFolders()},
		} {
			env := map[string]string{"HDF5_PLUGIN_PATH": c.path, "HDF5_PLUGIN_PRELOAD": c.preload}
			require.Equal(t, c.want, SearchPath(c.given, func(name string) string { return env[name] }), "%+v", c)
		}
		// Files are tried by name, and folders that do not exist are skipped.
		dir := t.TempDir()
		for _, name := range []string{"libz.so", "liba.so.1", "libm.so", "lib.txt"} {
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), nil, 0o644))
		}
		files, err := candidates(dir)
		require.NoError(t, err)
		if runtime.GOOS != "windows" {
			require.Equal(t, []string{filepath.Join(dir, "liba.so.1"), filepath.Join(dir, "libm.so"), filepath.Join(dir, "libz.so")}, files)
		}
		s, err := Open(&Options{Folders: append(DefaultFolders()[:1:1], filepath.Join(dir, "missing"), t.TempDir())})
		require.NoError(t, err)
		defer s.Close()
		require.Len(t, s.Skipped(), 1)
		require.ErrorIs(t, s.Skipped()[0].Err, fs.ErrNotExist)
	})
	t.Run("URLs", func(t *testing.T) {
		for given, want := range map[string][]string{
			"https://user:secret@host/x":                        {"https://host/x"},
			list("/a", "https://user:secret@host:8080/x", "/b"): {"/a", "https://host:8080/x", "/b"},
			list("https://user:sec/ret@host/x", "/b"):           {"https://host/x", "/b"},
			list("https://host/x?token=secret:secret", "/b"):    {"https://host/x"},
			list("s3://key:secret@bucket/x", "/b"):              {"s3://bucket/x", "/b"},
			"FTP://u:secret@host":                               {"ftp://host"},
			list("ftp://u:secret@h/", "default"):                append([]string{"ftp://h/"}, DefaultFolders()...),
			list("/a", "b:"):                                    nil,
		} {
			found := SearchPath([]string{given}, func(string) string { return "" })
			require.NotContains(t, strings.Join(found, " "), "secret")
			if want != nil {
				require.Equal(t, want, found)
				_, err := candidates(want[slices.IndexFunc(want, func(dir string) bool { return strings.Contains(dir, "://") })])
				require.ErrorContains(t, err, "found a URL")
			}
		}
	})
	t.Run("L2", func(t *testing.T) {
		env := func(string) string { return `C:\ProgramData` }
		require.Equal(t, []string{"/usr/local/hdf5/lib/plugin", "/usr/lib/x86_64-linux-gnu/hdf5/serial/plugins"}, defaultFolders("linux", "amd64", env))
		require.Equal(t, []string{"/usr/local/hdf5/lib/plugin", "/usr/lib/aarch64-linux-gnu/hdf5/serial/plugins"}, defaultFolders("linux", "arm64", env))
		require.Equal(t, []string{"/usr/local/hdf5/lib/plugin"}, defaultFolders("darwin", "arm64", env))
		require.Equal(t, []string{`C:\ProgramData\hdf5\lib\plugin`}, defaultFolders("windows", "amd64", env))
	})
	t.Run("L3", func(t *testing.T) {
		for goos, names := range map[string]map[string]bool{
			"linux":   {"libx.so": true, "libx.so.1": true, "x.so": false, "libx.a": false, "libx.dylib": false},
			"darwin":  {"libx.dylib": true, "libx.so": true, "x.dylib": false},
			"cygwin":  {"cygx.dll": true, "cygx.dll.a": true, "x.dll": false},
			"windows": {"x.dll": true, "X.DLL": true, "x.so": false},
		} {
			for name, want := range names {
				require.Equal(t, want, isPlugin(goos, name), "%s: %s", goos, name)
			}
		}
	})
	t.Run("L9", func(t *testing.T) {
		// Built-in filters work without plugins, and a set without a host cannot be opened.
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, "libx.so"), nil, 0o644))
		if runtime.GOOS == "windows" {
			require.NoError(t, os.WriteFile(filepath.Join(dir, "x.dll"), nil, 0o644))
		}
		_, err := Open(&Options{Folders: []string{dir}, Host: filepath.Join(dir, "missing")})
		require.ErrorIs(t, err, ErrHost)
		_, ok := filters.Lookup(filters.Blosc)
		require.True(t, ok)
	})
	t.Run("L12", func(t *testing.T) {
		own := Library{Path: "own", Filter: &Filter{ID: 400}, Codecs: []Codec{{ID: "own", Filter: 400}}}
		got := pair([]Library{
			{Path: "defaults", Codecs: []Codec{{ID: "d400", Filter: 400, Default: true}, {ID: "d401", Filter: 401, Default: true}, {ID: "d402", Filter: 402, Default: true}}},
			{Path: "neither", Ignored: "nothing"}, own, {Path: "filter", Filter: &Filter{ID: 401}}, {Path: "codec", Codecs: []Codec{{ID: "c403", Filter: 403}}},
			{Path: "alone", Filter: &Filter{ID: 404}}, {Path: "second", Filter: &Filter{ID: 404, Name: "second"}}, {Path: "late", Filter: &Filter{ID: 403}},
		})
		var table []string
		for _, p := range got {
			codec := "-"
			if p.Codec != nil {
				codec = p.Codec.ID + " of " + p.CodecPath
			}
			table = append(table, strings.Join([]string{filters.Filter{ID: p.ID}.String(), p.Path, codec, string(p.Action())}, ", "))
		}
		require.Equal(t, []string{
			"400, own, own of own, filter and codec",
			"401, filter, d401 of defaults, filter and codec",
			"402, , d402 of defaults, ignored",
			"403, late, c403 of codec, filter and codec",
			"404, alone, -, filter",
		}, table)
	})
}

// TestClosed checks that a set that is closed starts no process.
func TestClosed(t *testing.T) {
	s, err := Open(nil)
	require.NoError(t, err)
	s.Close()
	_, err = s.pool.take()
	require.True(t, errors.Is(err, ErrHost))
}
