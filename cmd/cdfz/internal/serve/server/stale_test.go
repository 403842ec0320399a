package server

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/archive/archivefs"
)

// faulty is a file system in which operations on some names fail.
type faulty struct {
	fs.ReadLinkFS
	opens, looks map[string]error
}

func (f *faulty) Open(name string) (fs.File, error) {
	if err := f.opens[name]; err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return f.ReadLinkFS.Open(name)
}

func (f *faulty) Lstat(name string) (fs.FileInfo, error) {
	if err := f.looks[name]; err != nil {
		return nil, &fs.PathError{Op: "lstat", Path: name, Err: err}
	}
	return f.ReadLinkFS.Lstat(name)
}

// TestStale serves files that nobody can look for or open. They are not called missing: clients of Zarr take status
// 404 for fill values.
func TestStale(t *testing.T) {
	dir := t.TempDir()
	for name, b := range classic(t, "cdf2_climate") {
		put(t, filepath.Join(dir, name), b)
	}
	put(t, filepath.Join(dir, "a.nc"+archive.Suffix), []byte("x"))
	put(t, filepath.Join(dir, "b.nc"+archive.Suffix), []byte("x"))
	s, at := start(t, dir, nil)
	s.source.FS = archivefs.New(&faulty{
		os.DirFS(dir).(fs.ReadLinkFS),
		map[string]error{"a.nc" + archive.Suffix: syscall.EIO, "b.nc" + archive.Suffix: syscall.EACCES},
		map[string]error{"stale": syscall.EIO, "stale.nc": syscall.ETIMEDOUT, "cut": syscall.ENOTDIR},
	}, nil)
	for path, want := range map[string]int{
		"/zarr/stale.nc/tas/0.0.0":            500,
		"/zarr/stale/x.nc/tas/0.0.0":          500,
		"/zarr/a.nc/tas/0.0.0":                500,
		"/zarr/b.nc/tas/0.0.0":                403,
		"/zarr/none.nc/tas/0.0.0":             404,
		"/zarr/cut/tas/0.0.0":                 404,
		"/zarr/cdf2_climate.nc/tas/99999.0.0": 404,
		"/dap/stale.nc.dds":                   500,
		"/dap/a.nc.dds":                       500,
		"/dap/none.nc.dds":                    404,
		"/files/stale.nc":                     500,
		"/files/a.nc":                         500,
		"/files/none.nc":                      404,
	} {
		require.Equal(t, want, get(t, at+path).StatusCode, path)
	}
}
