//go:build judge && linux

package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestJudgeCatalogueCDO has causes for which CDO 2.1.1 shows other times than a catalogue.
// TestJudgeCorpusCatalogue has real files.
func TestJudgeCatalogueCDO(t *testing.T) {
	const grid = `dimensions: time = 2; lat = 2; lon = 2; variables: double lat(lat); lat:units = "degrees_north";
		double lon(lon); lon:units = "degrees_east"; `
	const places = ` lat = 0, 1; lon = 0, 1;`
	for name, c := range map[string]struct {
		cdl  string
		cdo  string // "" for none
		want string
	}{
		"the same": {
			grid + `double time(time); time:units = "days since 1964-03-12 12:09:00"; float v(time, lat, lon); data: time = 1, 2;` + places,
			"1964-03-13T12:09:00 1964-03-14T12:09:00", "1964-03-13T12:09:00 1964-03-14T12:09:00",
		},
		// UDUNITS has the zone, as nine hours behind UTC. CDO ignores it.
		"zone": {
			grid + `double time(time); time:units = "days since 1964-03-12 12:09:00 -9:00"; float v(time, lat, lon); data: time = 1, 2;` + places,
			"1964-03-13T12:09:00 1964-03-14T12:09:00", "1964-03-13T21:09:00 1964-03-14T21:09:00",
		},
		// CDO unpacks variables, but no times.
		"packed": {
			grid + `short time(time); time:units = "days since 2001-01-01"; time:add_offset = 100.; float v(time, lat, lon); data: time = 1, 2;` + places,
			"2001-01-02T00:00:00 2001-01-03T00:00:00", "2001-04-12T00:00:00 2001-04-13T00:00:00",
		},
		// CDO leaves out variables whose first dimension is not the time.
		"not first": {
			grid + `double time(time); time:units = "days since 2001-01-01"; float v(lat, time, lon); data: time = 1, 2;` + places,
			"", "2001-01-02T00:00:00 2001-01-03T00:00:00",
		},
		// CDO has no fractions.
		"fractions": {
			grid + `double time(time); time:units = "seconds since 2001-01-01"; float v(time, lat, lon); data: time = 1.75, 2.25;` + places,
			"2001-01-01T00:00:01 2001-01-01T00:00:02", "2001-01-01T00:00:01.750000 2001-01-01T00:00:02.250000",
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			original := filepath.Join(dir, "a.nc")
			require.NoError(t, os.WriteFile(filepath.Join(dir, "a.cdl"), []byte("netcdf a { "+c.cdl+" }"), 0o644))
			out, err := exec.Command("ncgen", "-3", "-o", original, filepath.Join(dir, "a.cdl")).CombinedOutput()
			require.NoError(t, err, "%s", out)
			out, _ = exec.Command("cdo", "-s", "showtimestamp", original).Output() // fails without variables
			require.Equal(t, c.cdo, strings.Join(strings.Fields(string(out)), " "))
			catalogue := filepath.Join(dir, "cat.parquet")
			require.NoError(t, self(t, "catalogue", "-q", "-o", catalogue, original).Run())
			out, err = self(t, "find", "--catalogue", catalogue, "v", "--json").Output()
			require.NoError(t, err)
			var r struct {
				Start string `json:"time_start"`
				End   string `json:"time_end"`
			}
			require.NoError(t, json.Unmarshal(out, &r))
			require.Equal(t, c.want, r.Start+" "+r.End)
		})
	}
}
