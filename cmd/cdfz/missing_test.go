package main

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/filters"
)

// TestMissingFilter checks archives with a filter that a program lacks: this process has
// registered it, and the program that it starts has not.
func TestMissingFilter(t *testing.T) {
	registerSlow() // filter 298
	self, err := os.Executable()
	require.NoError(t, err)
	other := func(args ...string) (string, int) {
		cmd := exec.Command(self, args...)
		cmd.Args[0] = "cdfz" // see TestMain
		out, _ := cmd.CombinedOutput()
		return string(out), cmd.ProcessState.ExitCode()
	}
	image, err := os.ReadFile("../../testdata/classic/cdf2_climate.nc")
	require.NoError(t, err)
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("a.nc", image, 0o644))
	ours := func(args ...string) {
		var msg bytes.Buffer
		require.Zero(t, run(t.Context(), args, nil, new(bytes.Buffer), &msg), "%v: %s", args, &msg)
	}
	fails := func(text string, args ...string) {
		t.Helper()
		out, code := other(args...)
		require.Equal(t, 1, code, "%v: %s", args, out)
		require.Contains(t, out, text)
	}
	works := func(text string, args ...string) {
		t.Helper()
		out, code := other(args...)
		require.Zero(t, code, "%v: %s", args, out)
		require.Contains(t, out, text)
	}
	ours("archive", "-q", "--zarr", "always", "--preset", "portable", "-F", "tas,298", "a.nc")
	t.Run("Q4", func(t *testing.T) {
		works(`tas:_Filter = "298"`, "dump", "-hs", "a.nc.cdfz")
		works("298 unknown", "info", "a.nc.cdfz")
		fails("unknown filter 298", "dump", "a.nc.cdfz")
	})
	t.Run("P7", func(t *testing.T) {
		fails("unknown filter 298", "get", "a.nc.cdfz", "tas[0,0,0]")
		fails("tas", "restore", "-o", "x.nc", "a.nc.cdfz")
		require.NoFileExists(t, "x.nc")
		works("", "get", "a.nc.cdfz", "pr[0,0,0]")
		works("copied as stored", "copy", "--no-check", "-F", "pr,307,9", "a.nc.cdfz", "b.cdfz")
		fails("unknown filter 298", "copy", "-F", "tas,307,9", "a.nc.cdfz", "c.cdfz")
		require.NoFileExists(t, "c.cdfz")
		ours("verify", "b.cdfz")
	})
	// A copy keeps the codec of the filter, and so the variable stays in the Zarr view.
	t.Run("codec", func(t *testing.T) {
		registerPaired() // filter 299
		ours("archive", "-q", "--zarr", "always", "--preset", "portable", "-F", "tas,2|299", "a.nc", "-o", "p.cdfz")
		for _, to := range []string{"--zarr=always", "--zarr=consolidated"} {
			args := []string{"copy", "-q", "--no-check", "-F", "pr,307,9", to, "p.cdfz"}
			ours(append(args, "ours.cdfz")...)
			works("", append(args, "other.cdfz")...)
			want, err := os.ReadFile("ours.cdfz")
			require.NoError(t, err)
			got, err := os.ReadFile("other.cdfz")
			require.NoError(t, err)
			require.True(t, bytes.Equal(want, got), "%s: the copies differ", to)
			z, err := zip.NewReader(bytes.NewReader(got), int64(len(got)))
			require.NoError(t, err)
			meta, err := fs.ReadFile(z, ".zmetadata")
			require.NoError(t, err)
			require.Contains(t, string(meta), `"compressor":{"id":"paired"}`)
			require.NoError(t, os.Remove("ours.cdfz"))
			require.NoError(t, os.Remove("other.cdfz"))
		}
		out, _ := other("verify", "p.cdfz")
		require.Contains(t, out, "unknown filter 299")
		require.NotContains(t, out, "Zarr")
	})
	t.Run("P5", func(t *testing.T) {
		out, code := other("archive", "-F", "tas,298", "-o", "d.cdfz", "a.nc")
		require.Equal(t, 2, code)
		require.Contains(t, out, "unknown filter 298")
		require.NoFileExists(t, "d.cdfz")
	})
	t.Run("P6", func(t *testing.T) {
		works("warning: a.nc: filter 298 is optional and unknown: no block has it", "archive", "-F", "tas,298?|1,6", "-o", "e.cdfz", "a.nc")
		works(`"298?|1,6"`, "info", "--json", "e.cdfz")
		works("", "restore", "-o", "e.nc", "e.cdfz")
		back, err := os.ReadFile("e.nc")
		require.NoError(t, err)
		require.True(t, bytes.Equal(image, back))
	})
}

// registerPaired registers a filter with a codec.
var registerPaired = sync.OnceFunc(func() {
	m := filters.Method{ID: 299, Name: "paired", Compresses: true, New: func() filters.Session { return &slowFilter{} }, Codec: &filters.Codec{
		ID:     "paired",
		Params: func(json.RawMessage) ([]uint32, error) { return nil, nil },
		JSON:   func([]uint32, filters.Block) (json.RawMessage, error) { return json.RawMessage(`{"id":"paired"}`), nil },
	}}
	if err := filters.Register(m); err != nil {
		panic(err)
	}
})
