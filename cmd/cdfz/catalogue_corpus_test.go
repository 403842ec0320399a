//go:build corpus && judge && linux

package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/testdata/corpus"
)

// otherTimes says why the times of CDO 2.1.1 differ for files of the corpus, by the start of their names. CDO's
// are later by shift, or else those in found: none if it finds none, or two.
var otherTimes = map[string]struct {
	why   string
	shift time.Duration
	found []string
}{
	// days since 1964-03-12 12:09:00 -9:00
	"hdf.nc":     {why: "CDO ignores the time zone of the units", shift: -9 * time.Hour},
	"in.nc":      {why: "the same", shift: -9 * time.Hour},
	"in_zarr.nc": {why: "the same", shift: -9 * time.Hour},

	"err64_packed_data": {why: "CDO ignores the add_offset of a time", found: []string{"0001-01-01T00:00:00", "0001-01-01T00:00:00"}},
	"aggT_5d1":          {why: "CDO skips variables whose time is not the first dimension"},
	"inf.":              {why: "CDO opens no file without data variables"},
	"MD5903593":         {why: "CDO looks for times of the record dimension N_HISTORY, which has none; JULD has those of profiles"},
	"MR5905167":         {why: "the same"},
	"bn_strides":        {why: "CDO takes the record dimension TAX1_1, whose variable has no units", found: []string{"0000-00-00T00:00:00", "0000-00-00T00:00:00"}},
	"modax":             {why: "CDO looks for a variable of the name of the record dimension, tirreg", found: []string{"0000-00-00T00:00:00", "0000-00-00T00:00:00"}},
	"492C19881104":      {why: "CDO takes the scalar time_coverage_start for the only time", found: []string{"1988-11-04T00:00:00", "1988-11-04T00:00:00"}},
	"solarforcing":      {why: "CDO takes the dimension time, which has no variable; time_bnds alone has units of time", found: []string{"0000-00-00T00:00:00", "0000-00-00T00:00:00"}},
	"cont_ragged.nc6":   {why: "CDO takes the dimension profile for the time, without its variable time", found: []string{"0000-00-00T00:00:00", "0000-00-00T00:00:00"}},
}

// reasonOf returns the key of otherTimes for a file, or "".
func reasonOf(name string) string {
	for start := range otherTimes {
		if strings.HasPrefix(name, start) {
			return start
		}
	}
	return ""
}

// TestJudgeCorpusCatalogue compares the first and last times of files that other programs have written with
// those of CDO.
func TestJudgeCorpusCatalogue(t *testing.T) {
	dir := t.TempDir()
	var list strings.Builder
	corpus.Valid(t, func(t *testing.T, f corpus.File) {
		name := strings.TrimSuffix(filepath.Base(f.Name), ".gz")
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), f.Bytes(t), 0o600))
		list.WriteString(name + "\n")
	})
	cdfz := func(stdin string, args ...string) []byte {
		t.Helper()
		cmd := self(t, args...)
		cmd.Dir, cmd.Stdin = dir, strings.NewReader(stdin)
		out, err := cmd.Output()
		require.NoError(t, err, "%v", args)
		return out
	}
	cdfz(list.String(), "catalogue", "-q", "-o", "cat.parquet", "--files-from", "-")
	const layout = "2006-01-02T15:04:05"
	spans := map[string][][2]string{}
	for line := range strings.Lines(string(cdfz("", "find", "--catalogue", "cat.parquet", "--json"))) {
		var r struct {
			File  string
			Start string `json:"time_start"`
			End   string `json:"time_end"`
		}
		require.NoError(t, json.Unmarshal([]byte(line), &r))
		if r.Start != "" && !slices.Contains(spans[r.File], [2]string{r.Start, r.End}) {
			spans[r.File] = append(spans[r.File], [2]string{r.Start, r.End})
		}
	}
	agree, differ := 0, map[string]int{}
	for name, all := range spans {
		out, _ := exec.CommandContext(t.Context(), "cdo", "-s", "showtimestamp", filepath.Join(dir, name)).Output() // fails for a file without data
		var found []string
		if stamps := strings.Fields(string(out)); len(stamps) > 0 {
			found = []string{slices.Min(stamps), slices.Max(stamps)}
		}
		var shift time.Duration
		if start := reasonOf(name); start != "" {
			o := otherTimes[start]
			differ[start]++
			if shift = o.shift; shift == 0 {
				require.Equal(t, o.found, found, "%s: %s", name, o.why)
				continue
			}
		}
		require.NotNil(t, found, name)
		// CDO has no fractions of a second: it rounds days, and cuts seconds off. All dates here are dates
		// of Go's calendar.
		near := func(s, cdo string) bool {
			at, err := time.Parse(layout, s)
			require.NoError(t, err, name)
			other, err := time.Parse(layout, cdo)
			return err == nil && at.Add(shift).Sub(other).Abs() < time.Second
		}
		require.True(t, slices.ContainsFunc(all, func(s [2]string) bool { return near(s[0], found[0]) && near(s[1], found[1]) }),
			"%s: %v, CDO %v", name, all, found)
		agree++
	}
	require.NotZero(t, agree)
	t.Logf("%d files agree, %v differ", agree, differ)
}
