//go:build judge

package cf_test

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/cf"
)

// unitsTable returns units of time in all spellings of units, words, dates, times of day and zones.
func unitsTable() (table []string) {
	add := func(format string, args ...any) { table = append(table, fmt.Sprintf(format, args...)) }
	zones := []string{"", "Z", " Z", "z", " UTC", "UTC", " utc", " GMT", " gmt", "+1", " +1", " +01", "+01", " +0100", "+0100", " +01:00", "+01:00", " -6", " -06", "-06:00",
		" -0600", " -6:00", " -5:30", " +530", " -530", " 0:00", " 00:00", " 0", " 00", " 0000", " 6", " 06", " 06:00", " 6:30", " 0630", " 630", " 1:30", " +14", " -00:00", " +00:00", " +5:3", " -00:30", " -0030",
		" -053", " +053", " +25", " +6:75", " EST", " CET", " UT", " (UTC)", " UTC+1", " Z UTC", " 00:00:00", " - 6", " AM"}
	for _, clock := range []string{"2019-10-15 00:00:00", "2019-10-15T12:30:00", "1999-1-5 6:05"} {
		for _, zone := range zones {
			add("seconds since %s%s", clock, zone)
		}
	}
	for _, zone := range zones {
		add("days since 2000-3-1%s", zone)
	}
	for _, clock := range []string{"6", "06", "6:5", "06:05", "6:5:4", "06:05:04", "06:05:04.", "06:05:04.5", "06:05:04.123456", "06:05:04.000000000", "0:0:0.0", "00:00:0.0", "0605", "060504", "060504.25",
		"123", "12345", "23:59:59", "23:59:60", "12:00:60", "12:00:61", "24:00", "24:00:00", "25:00", "12:60", "-6", "-06:00", "+6:00", "1.5"} {
		for _, sep := range []string{" ", "T", "  ", "_"} {
			add("hours since 2000-01-01%s%s", sep, clock)
		}
		add("hours since 2000-01-01T%sZ", clock)
		add("hours since 2000-01-01 %s +01:00", clock)
	}
	for _, sep := range []string{"t", " T", "T ", " T ", ":", ",", ", ", ";", "/", ".", "-", "x", "\t"} {
		add("days since 2000-01-01%s06:00:00", sep)
	}
	for _, date := range []string{"2000-01-01", "2000-1-1", "2000-1-01", "2000-01-1", "1-1-1", "01-1-1", "0001-01-01", "0001-1-1", "85-7-9", "850-01-01", "0850-1-1", "0-1-1", "0000-01-01", "-4-1-1", "-0001-01-01", "-4713-01-01",
		"+2000-1-1", "20000-01-01", "99999-1-1", "100000-1-1", "2000", "2000-01", "2000-1", "2000-12", "850", "1", "20000101", "2000011", "200001", "20001", "19000101", "850101", "2000-001", "2000-13-1", "2000-2-30", "2001-2-29",
		"2000-0-0", "2000-01-00", "1582-10-10", "1582-10-04", "1582-10-15", "2000-01-01-01", "2000/1/1", "1/1/2000", "1.1.2000", "2000.1.1", "2000 1 1", "Jan 1 2000", "1-1-1970", "15-6-1970", "1-6-1970", "now", "(2000-01-01)", "'2000-01-01'"} {
		add("days since %s", date)
		add("days since %s 12:00:00", date)
		add("days since %sT06:00:00Z", date)
	}
	for _, unit := range []string{"nanosecond", "nanoseconds", "nanosec", "nsec", "ns", "microsecond", "microseconds", "microsec", "microsecs", "usec", "us", "millisecond", "milliseconds", "millisec", "millisecs", "msec", "msecs", "ms",
		"second", "seconds", "sec", "secs", "s", "Second", "SECONDS", "Sec", "S", "minute", "minutes", "min", "mins", "Min", "MINUTES", "hour", "hours", "hr", "hrs", "h", "Hours", "HOUR", "H", "day", "days", "d", "Days", "DAYS", "D",
		"week", "weeks", "Weeks", "fortnight", "fortnights", "2 days", "10 minutes", "12 hours", "0.5 day", "1e-3 s", "0.1 ns", "-1 day", "day*2", "sec.", "hour(s)", "K", "m", "furlongs"} {
		add("%s since 2001-02-03 04:05:06", unit)
	}
	for _, word := range []string{"since", "Since", "SINCE", " since ", "since ", "from", "FROM", "after", "ref", "@", "until", "in"} {
		add("days %s 2001-02-03 04:05:06", word)
	}
	add("days since2001-02-03")
	add(" days since 2001-02-03")
	add("days since 2001-02-03 ")
	add("days since 2001-02-03 00:00:00 +01 ")
	return table
}

// TestJudgeUnits compares units of time with UDUNITS, cftime and xarray. What one of them reads is read, in the
// meaning of the first of these if they differ. The exceptions are here.
func TestJudgeUnits(t *testing.T) {
	table := unitsTable()
	require.Greater(t, len(table), 500)
	cmd := exec.CommandContext(t.Context(), python, "testdata/units_judge.py")
	var stderr bytes.Buffer
	cmd.Stdin, cmd.Stderr = strings.NewReader(strings.Join(table, "\n")+"\n"), &stderr
	out, err := cmd.Output()
	require.NoError(t, err, "%s", &stderr)
	judged := strings.Split(strings.TrimSpace(string(out)), "\n")
	require.Len(t, judged, len(table))
	epoch, err := cf.Standard.Time(cf.Date{Year: 2000, Month: 1, Day: 1})
	require.NoError(t, err)
	counts, used, usedXarray := map[string]int{}, map[int]bool{}, map[int]bool{}
	for i, units := range table {
		words := strings.Fields(judged[i])
		udunits, cftime, xarray := words[0], words[1], words[2]
		found := "-"
		u, err := cf.ParseUnits(units, "standard")
		if err == nil {
			at, ok := u.Time(1.5)
			require.True(t, ok, units)
			found = strconv.FormatFloat(float64(at-epoch)/1e6, 'f', 6, 64)
		}
		kind := "agrees with both"
		switch {
		case udunits == "-" && cftime == "-":
			kind = "nobody"
		case udunits == "-":
			kind = "cftime alone"
		case cftime == "-":
			kind = "UDUNITS alone"
		case udunits != cftime:
			kind = "UDUNITS of both"
		}
		want := udunits
		if udunits == "-" {
			want = cftime
		}
		if want == "-" {
			want = xarray
		}
		counts[kind]++
		if xarray != "-" && !near(found, xarray) && !near(cftime, xarray) {
			e := slices.IndexFunc(xarrayExceptions, func(e unitsException) bool { return e.units.MatchString(units) })
			require.GreaterOrEqual(t, e, 0, "%q: UDUNITS %s, cftime %s, xarray %s, found %s, %v", units, udunits, cftime, xarray, found, err)
			require.Equal(t, xarrayExceptions[e].read, err == nil, "%q: %s", units, xarrayExceptions[e].why)
			usedXarray[e] = true
			counts["exceptions of xarray"]++
		}
		if near(found, want) {
			continue
		}
		e := slices.IndexFunc(unitsExceptions, func(e unitsException) bool { return e.units.MatchString(units) })
		require.GreaterOrEqual(t, e, 0, "%q: UDUNITS %s, cftime %s, xarray %s, found %s, %v", units, udunits, cftime, xarray, found, err)
		require.Equal(t, unitsExceptions[e].read, err == nil, "%q: %s: UDUNITS %s, cftime %s, xarray %s, found %s", units, unitsExceptions[e].why, udunits, cftime, xarray, found)
		used[e] = true
		counts["exceptions"]++
	}
	for i, e := range unitsExceptions {
		require.True(t, used[i], e.why)
	}
	for i, e := range xarrayExceptions {
		require.True(t, usedXarray[i], e.why)
	}
	t.Log(counts)
}

// near compares times in seconds up to the rounding of microseconds.
func near(a, b string) bool {
	x, err1 := strconv.ParseFloat(a, 64)
	y, err2 := strconv.ParseFloat(b, 64)
	return a == b || err1 == nil && err2 == nil && math.Abs(x-y) < 1.5e-6
}

// unitsException is a kind of units that cdfz reads differently from the judges, or not at all.
type unitsException struct {
	units *regexp.Regexp
	read  bool // else an error
	why   string
}

var unitsExceptions = []unitsException{
	{regexp.MustCompile(`since \d{4}-\d+-\d+[ T]*[-+]\d`), false, "a sign after a date: UDUNITS 2.2 reads a time of day, cftime a zone, later versions of UDUNITS nothing"},
	{regexp.MustCompile(` -00:?30$`), true, "UDUNITS 2.2.28 loses the sign of a zone in the first hour"},
	{regexp.MustCompile(`[-+]053$`), false, "three digits with a leading 0: UDUNITS reads 53 minutes, cftime five hours"},
	{regexp.MustCompile(`\+25$|\+6:75$`), false, "there is no such time zone"},
	{regexp.MustCompile(`( [A-Z]{3}|\(UTC\)|UTC\+1|Z UTC|- 6| AM)$`), false, "cftime ignores it"},
	{regexp.MustCompile(`-\d+[ T_]+(\d{3}|\d{5})($| |Z)`), false, "three or five digits: versions of UDUNITS read 1:23 and 12:3"},
	{regexp.MustCompile(`_(-|\+|1\.5|\d{1,2}$|\d{4})`), false, "cftime ignores it"},
	{regexp.MustCompile(`12:00:6[01]|24:00|25:00|12:60`), false, "there is no such time of day"},
	{regexp.MustCompile(`23:59:60`), true, "cftime has no leap seconds"},
	{regexp.MustCompile(`[ T]1\.5`), false, "cftime ignores it"},
	{regexp.MustCompile(` T0| T 0|T 0|, 0`), false, "cftime ignores it"},
	{regexp.MustCompile(`since 0+-`), true, "the year 0 is that of CDO and ncdump. cftime refuses it, UDUNITS takes it for 1"},
	{regexp.MustCompile(`since 99999-`), true, "UDUNITS 2.2.28 has shorter years"},
	{regexp.MustCompile(`2000-(001|13-1|2-30|0-0|01-00)|2001-2-29|1582-10-10`), false, "there is no such date"},
	{regexp.MustCompile(`since (1[/.]1[/.]2000|2000[. ]1|Jan 1 2000|'2000)`), false, "only xarray reads it, by pandas, which takes the month for the first number of 1/2/2000"},
	{regexp.MustCompile(`since (1-1|15-6)-1970`), true, "see yearLast"},
	{regexp.MustCompile(`since 1-6-1970`), false, "see yearLast"},
	{regexp.MustCompile(`^(0\.1 ns|-1 day|day\*2)`), false, "the factor is no number of nanoseconds"},
}

// xarrayExceptions are the kinds of units that xarray alone reads as it does. It asks pandas before cftime.
var xarrayExceptions = []unitsException{
	{regexp.MustCompile(`\d:\d\d (\d+:\d\d|00:00:00)$`), true, "pandas takes a zone without a sign for the time of day, and forgets the one before"},
	{regexp.MustCompile(`\d:\d\d AM$`), false, "pandas knows the hours before noon"},
	{regexp.MustCompile(`[-+]053$|\+6:75$|UTC\+1$`), false, "pandas reads zones that do not exist"},
	{regexp.MustCompile(`since \d{4}-\d+-\d+ +-\d`), false, "a sign after a date: a zone, where UDUNITS 2.2 reads a time of day"},
	{regexp.MustCompile(` T0|T 0|, 0|-01-01 12`), false, "cftime ignores the time of day, or takes it for something else"},
	{regexp.MustCompile(`since 1-6-1970`), false, "see yearLast"},
	{regexp.MustCompile(`since 850101`), true, "the year 85010 for UDUNITS, 1985 for pandas"},
	{regexp.MustCompile(`since (1[/.]1[/.]2000|2000[. ]1|Jan 1 2000|'2000)`), false, "pandas reads any date"},
}

// TestJudgeUnitsCDO compares times without zones with CDO, which ignores zones.
func TestJudgeUnitsCDO(t *testing.T) {
	dir, judged := t.TempDir(), 0
	for _, units := range unitsTable() {
		u, err := cf.ParseUnits(units, "proleptic_gregorian")
		if err != nil || !regexp.MustCompile(`^\w+ since \d{4}-\d+-\d+( +\d+:\d+(:\d+)?)?$`).MatchString(units) || strings.Contains(units, "23:59:60") {
			continue
		}
		name := filepath.Join(dir, "t.nc")
		cdl := fmt.Sprintf(`netcdf t { dimensions: time = 1; variables: double time(time); time:units = "%s"; time:axis = "T"; time:calendar = "proleptic_gregorian"; float x(time); data: time = 0; x = 1; }`, units)
		require.NoError(t, os.WriteFile(name+".cdl", []byte(cdl), 0o666))
		require.NoError(t, exec.Command("ncgen", "-o", name, name+".cdl").Run())
		out, err := exec.Command("cdo", "-s", "showtimestamp", name).Output()
		require.NoError(t, err)
		d, ok := u.Date(0)
		require.True(t, ok)
		if cdo := strings.TrimSpace(string(out)); !strings.Contains(cdo, "Unsupported") {
			require.Equal(t, cdo, d.String(), units)
			judged++
		}
	}
	require.Greater(t, judged, 50)
	t.Logf("%d times agree", judged)
}
