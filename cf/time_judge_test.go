//go:build judge

package cf_test

import (
	"bytes"
	"fmt"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/cf"
)

// TestJudgeTimes compares dates with those of cftime, for all calendars and units.
func TestJudgeTimes(t *testing.T) {
	rng := rand.New(rand.NewSource(7))
	var cases [][3]string
	var in bytes.Buffer
	for _, calendar := range []string{"standard", "gregorian", "proleptic_gregorian", "julian", "noleap", "365_day", "all_leap", "366_day", "360_day"} {
		for _, unit := range []string{"microseconds", "milliseconds", "msec", "seconds", "sec", "s", "minutes", "min", "hours", "hr", "h", "days", "d", "Days", "months", "years", "common_years"} {
			for _, ref := range []string{"1970-01-01", "2000-01-01 12:30:15", "1850-1-1 00:00:0.0", "1582-10-15", "1582-10-04 06:00", "0001-01-01 00:00:00",
				"2000-02-28T23:59:59Z", "1999-12-31 00:00:00 +05:30", "1601-01-01 00:00:00 -1000", "2100-02-28", "1582-10-10", "2001-02-29", "2001-02-30"} {
				for range 12 {
					x := rng.NormFloat64() * float64([]int{1, 100, 40000, 1e6}[rng.Intn(4)])
					if strings.Contains(unit, "year") || unit == "months" {
						x /= 1000
					}
					if rng.Intn(2) == 0 {
						x = float64(int64(x))
					}
					cases = append(cases, [3]string{unit + " since " + ref, calendar, strconv.FormatFloat(x, 'x', -1, 64)})
					fmt.Fprintln(&in, strings.Join(cases[len(cases)-1][:], "\t"))
				}
			}
		}
	}
	cmd := exec.CommandContext(t.Context(), python, "testdata/time_judge.py")
	var stderr bytes.Buffer
	cmd.Stdin, cmd.Stderr = &in, &stderr
	out, err := cmd.Output()
	require.NoError(t, err, "%s", &stderr)
	want := strings.Split(strings.TrimSpace(string(out)), "\n")
	require.Len(t, want, len(cases))
	judged, refused := 0, 0
	for i, c := range cases {
		// In some calendars, cftime has no year 0 and counts the years before 1
		// differently.
		if strings.HasPrefix(want[i], "-0") || strings.HasPrefix(want[i], "0000") || strings.HasPrefix(want[i], "-1") {
			continue
		}
		u, err := cf.ParseUnits(c[0], c[1])
		if want[i] == "-" {
			refused++
			if err == nil {
				x, _ := strconv.ParseFloat(c[2], 64)
				d, ok := u.Date(x)
				require.True(t, !ok || d.Year < 1, "%v: expected none, found %s", c, d)
			}
			continue
		}
		require.NoError(t, err, c)
		x, err := strconv.ParseFloat(c[2], 64)
		require.NoError(t, err)
		d, ok := u.Date(x)
		require.True(t, ok, c)
		if d.Year < 1 {
			continue
		}
		require.Equal(t, want[i], d.String(), c)
		judged++
	}
	require.Greater(t, judged, 10000)
	t.Logf("%d dates agree, %d refused by both", judged, refused)
}

// TestJudgeYearLast compares reference times whose year comes last with CDO and xarray. Where these
// differ, or one refuses, ParseUnits does.
func TestJudgeYearLast(t *testing.T) {
	refs := []string{"1-1-1970", "01-01-1970", "7-7-2000", "13-1-1970", "31-12-1999", "15-06-1850", "1-6-1970", "06-1-1970", "12-11-2000", "12-31-1999", "2-30-2000"}
	dir := t.TempDir()
	xarray := `import sys, xarray, warnings
warnings.simplefilter("ignore")
for units in sys.argv[1:]:
    ds = xarray.Dataset({"t": ("t", [0.0], {"units": units, "calendar": "proleptic_gregorian"})})
    try: print(str(xarray.decode_cf(ds).t.values[0])[:19])
    except Exception: print("-")
`
	args := []string{"-c", xarray}
	for _, ref := range refs {
		args = append(args, "days since "+ref)
	}
	out, err := exec.Command(python, args...).Output()
	require.NoError(t, err)
	judged := strings.Fields(string(out))
	require.Len(t, judged, len(refs))
	accepted := 0
	for i, ref := range refs {
		name := filepath.Join(dir, ref)
		cdl := fmt.Sprintf(`netcdf t { dimensions: time = 1; variables: double time(time); time:units = "days since %s"; time:axis = "T"; time:calendar = "proleptic_gregorian"; float x(time); data: time = 0; x = 1; }`, ref)
		require.NoError(t, os.WriteFile(name+".cdl", []byte(cdl), 0o666))
		require.NoError(t, exec.Command("ncgen", "-o", name+".nc", name+".cdl").Run())
		out, err := exec.Command("cdo", "-s", "showtimestamp", name+".nc").Output()
		require.NoError(t, err)
		u, err := cf.ParseUnits("days since "+ref, "proleptic_gregorian")
		if cdo := strings.TrimSpace(string(out)); cdo != judged[i] {
			require.Error(t, err, "%s: CDO %s, xarray %s", ref, cdo, judged[i])
			continue
		}
		require.NoError(t, err)
		d, ok := u.Date(0)
		require.True(t, ok)
		require.Equal(t, judged[i], d.String())
		accepted++
	}
	require.Equal(t, 6, accepted)
}
