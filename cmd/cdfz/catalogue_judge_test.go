//go:build judge && linux

package main

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/testdata/corpus"
)

// TestJudgeCatalogue compares the first and last times of a catalogue with those of CDO, and its boxes with
// the coordinates that ncdump prints, for archives of climatologies.
func TestJudgeCatalogue(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"cdf1_climate_small.nc", "cdf2_climate.nc", "cdf5_climate_small.nc"} {
		b, err := os.ReadFile(filepath.Join("../../testdata/classic", name))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), b, 0o644))
	}
	corpus.Ferret(t, func(t *testing.T, f corpus.File) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, f.Name), f.Bytes(t), 0o644))
	})
	cdfz := func(args ...string) []byte {
		t.Helper()
		cmd := self(t, args...)
		cmd.Dir = dir
		out, err := cmd.Output()
		require.NoError(t, err, "%v", args)
		return out
	}
	cdfz("archive", "-q", "-o", "arch/", ".")
	cdfz("catalogue", "-q", "-o", "cat.parquet", "arch")
	type row struct {
		File, Variable string
		Dims           []string
		Start          string   `json:"time_start"`
		End            string   `json:"time_end"`
		South          *float64 `json:"lat_min"`
		North          *float64 `json:"lat_max"`
	}
	times, boxes := 0, 0
	last := ""
	for line := range bytes.Lines(cdfz("find", "--catalogue", "cat.parquet", "--json")) {
		var r row
		require.NoError(t, json.Unmarshal(line, &r))
		original := filepath.Join(dir, strings.TrimSuffix(filepath.Base(r.File), ".cdfz"))
		if r.Start != "" && len(r.Dims) > 2 && r.File != last {
			last = r.File
			out, err := exec.Command("cdo", "-s", "showtimestamp", original).Output()
			require.NoError(t, err, original)
			all := strings.Fields(string(out))
			seconds := len("2001-01-16T00:00:00") // CDO has no fractions
			require.Equal(t, []string{all[0], all[len(all)-1]}, []string{r.Start[:seconds], r.End[:seconds]}, original)
			times++
		}
		if r.South != nil && len(r.Dims) == 1 {
			out, err := exec.Command("ncdump", "-p", "9,17", "-v", r.Variable, original).Output()
			require.NoError(t, err, original)
			_, data, ok := strings.Cut(string(out), "\n "+r.Variable+" = ")
			require.True(t, ok)
			data, _, _ = strings.Cut(data, ";")
			var values []float64
			require.NoError(t, json.Unmarshal([]byte("["+data+"]"), &values), data)
			require.InDelta(t, slices.Min(values), *r.South, 1e-5)
			require.InDelta(t, slices.Max(values), *r.North, 1e-5)
			require.Less(t, math.Abs(*r.North), 90.1)
			boxes++
		}
	}
	require.GreaterOrEqual(t, times, 6)
	require.GreaterOrEqual(t, boxes, 6)
}
