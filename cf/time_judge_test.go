//go:build judge

package cf_test

import (
	"bytes"
	"fmt"
	"math/rand"
	"os/exec"
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
