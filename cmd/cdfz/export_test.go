package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
)

// TestExportChanged changes a source at many steps of an export that replaces another one. What exists stays,
// unless the change came before the source was opened.
func TestExportChanged(t *testing.T) {
	for name, args := range map[string][]string{
		"nc4": {"-o", "x.nc4", "x.nc"}, "zarr": {"-o", "x.zarr", "x.nc"}, "zarr3": {"--zarr-format", "3", "-o", "x.zarr", "x.nc.cdfz"},
		"json": {"--refs", "json", "-o", "x.json", "x.nc.cdfz"}, "parquet": {"--refs", "parquet", "-o", "x.parq", "x.nc.cdfz"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			classicInto(t, dir, "x.nc")
			t.Chdir(dir)
			target, source := args[len(args)-2], args[len(args)-1]
			var stdout, stderr bytes.Buffer
			require.Zero(t, run(t.Context(), []string{"archive", "x.nc"}, nil, &stdout, &stderr), stderr.String())
			args := append([]string{"export", "-q", "-f"}, args...)
			require.Zero(t, run(t.Context(), args, nil, &stdout, &stderr), stderr.String())
			when, refused := time.Unix(1e9, 0), 0
			for n := int64(1); ; n += 1 + n/4 {
				when = when.Add(time.Hour)
				before := filesOf(t, target)
				ctx := &stepContext{Context: t.Context(), do: func() { require.NoError(t, os.Chtimes(source, when, when)) }}
				ctx.left.Store(n)
				stderr.Reset()
				code := run(ctx, args, nil, &stdout, &stderr)
				if ctx.left.Load() > 0 { // it ended before
					break
				}
				if code == 0 {
					continue
				}
				refused++
				require.Equal(t, terminal.ExitFailed, code)
				require.Contains(t, stderr.String(), "changed")
				after := filesOf(t, target)
				require.Len(t, after, len(before))
				for path, st := range before {
					require.True(t, os.SameFile(st, after[path]), "step %d: %s", n, path)
				}
			}
			require.Positive(t, refused)
		})
	}
}

// filesOf returns the files at and below a path.
func filesOf(t *testing.T, top string) map[string]fs.FileInfo {
	all := map[string]fs.FileInfo{}
	require.NoError(t, filepath.Walk(top, func(path string, st fs.FileInfo, err error) error {
		all[path] = st
		return err
	}))
	return all
}
