package cf

import (
	"math"
	"math/rand"
	"testing"

	"github.com/stretchr/testify/require"
)

var calendars = []Calendar{Standard, ProlepticGregorian, Julian, NoLeap, AllLeap, Day360}

// TestCalendars checks that day numbers are consecutive and convert back to their
// dates.
func TestCalendars(t *testing.T) {
	for _, c := range calendars {
		for _, from := range []int64{-5, 1500, 1582, 1890, 1968, 2000, 2100} {
			n := c.yearStart(from)
			for year := from; year < from+13; year++ {
				require.Equal(t, n, c.yearStart(year), "%s: %d", c, year)
				for month := 1; month <= 12; month++ {
					for day := 1; day <= c.monthDays(year, month); day++ {
						if c == Standard && year == 1582 && month == 10 && day > 4 && day < 15 {
							_, ok := c.dayNumber(year, month, day)
							require.False(t, ok)
							continue
						}
						at, ok := c.dayNumber(year, month, day)
						require.True(t, ok)
						require.Equal(t, n, at, "%s: %d-%d-%d", c, year, month, day)
						y, m, d := c.dayDate(n)
						require.Equal(t, [3]int64{year, int64(month), int64(day)}, [3]int64{y, int64(m), int64(d)}, "%s: %d", c, n)
						n++
					}
				}
				_, ok := c.dayNumber(year, 2, c.monthDays(year, 2)+1)
				require.False(t, ok)
			}
		}
	}
	for _, c := range calendars {
		n, ok := c.dayNumber(1970, 1, 1)
		require.True(t, ok)
		if c != Julian {
			require.Zero(t, n, "%s", c)
		}
		again, err := parseCalendar(c.String())
		require.NoError(t, err)
		require.Equal(t, c, again)
	}
	n, _ := Julian.dayNumber(1969, 12, 19)
	require.Zero(t, n)
	_, err := parseCalendar("lunar")
	require.EqualError(t, err, `cf: unknown calendar "lunar"`)
}

// TestUnits checks vectors that cftime 1.6.2 agrees with.
func TestUnits(t *testing.T) {
	for _, c := range []struct {
		units, calendar string
		x               float64
		want            string
	}{
		{"days since 1970-01-01", "", 0, "1970-01-01T00:00:00"},
		{"days since 2000-01-01", "noleap", 59, "2000-03-01T00:00:00"},
		{"days since 2000-01-01", "all_leap", 365, "2000-12-31T00:00:00"},
		{"days since 2001-01-01", "366_day", 59, "2001-02-29T00:00:00"},
		{"days since 2000-01-01", "360_day", 59, "2000-02-30T00:00:00"},
		{"months since 2000-01-01", "360_day", 1.5, "2000-02-16T00:00:00"},
		{"days since 1582-10-04", "gregorian", 1, "1582-10-15T00:00:00"},
		{"days since 1582-10-04", "proleptic_gregorian", 1, "1582-10-05T00:00:00"},
		{"days since 1-1-1 00:00:0.0", "standard", 719164, "1970-01-01T00:00:00"},
		{"hours since 1900-01-01 00:00:0.0", "gregorian", 1043112.5, "2018-12-31T00:30:00"},
		{"Seconds since 1981-01-01T00:00:00Z", "julian", 0.25, "1981-01-01T00:00:00.250000"},
		{"minutes since 2000-01-01 12:30 +01:30", "", 1, "2000-01-01T11:01:00"},
		{"days since 2000-01-01 00:00:00 -5", "", 0, "2000-01-01T05:00:00"},
		{"msec since 2000-1-1 0", "", 1, "2000-01-01T00:00:00.001000"},
		{"common_years since 2000-01-01", "365_day", 3, "2003-01-01T00:00:00"},
		{"days since 0000-01-01", "noleap", -1, "-0001-12-31T00:00:00"},
		{"weeks since 2000", "", 1, "2000-01-08T00:00:00"},
		// Zones without a sign, as ARM and GMT write them, and those that UDUNITS reads and cftime ignores.
		{"seconds since 2019-10-15 00:00:00 0:00", "", 1, "2019-10-15T00:00:01"},
		{"seconds since 2019-10-15 00:00:00 6:30", "", 0, "2019-10-14T17:30:00"},
		{"seconds since 2019-10-15 00:00:00 0630", "", 0, "2019-10-14T17:30:00"},
		{"seconds since 2019-10-15 00:00:00 -6", "", 0, "2019-10-15T06:00:00"},
		{"seconds since 2019-10-15 00:00:00 -530", "", 0, "2019-10-15T05:30:00"},
		{"seconds since 2019-10-15 00:00:00 -00:30", "", 0, "2019-10-15T00:30:00"},
		{"hours since 2000-01-01 00 utc", "noleap", 1, "2000-01-01T01:00:00"},
		{"days since 2000-01-01 +00:00", "", 0, "2000-01-01T00:00:00"},
		{"days since 2000-01-01_06:30:00", "", 0, "2000-01-01T06:30:00"},
		{"days since 20000102T0304", "", 0, "2000-01-02T03:04:00"},
		{"days since 200002", "", 0, "2000-02-01T00:00:00"},
		{"days since 2000/2/3 4:05", "", 0, "2000-02-03T04:05:00"},
		{"days since 2000-12-31 23:59:60", "", 0, "2001-01-01T00:00:00"},
		{"DAYS SINCE 2000-1-1", "", 1, "2000-01-02T00:00:00"},
		{"days after 2000-1-1", "", 1, "2000-01-02T00:00:00"},
		{"day @ 2000-1-1", "", 1, "2000-01-02T00:00:00"},
		{"6 hours since 2000-1-1", "", 3, "2000-01-01T18:00:00"},
		{"0.1 seconds since 2000-1-1", "", 5, "2000-01-01T00:00:00.500000"},
		{"nanoseconds since 2000-1-1", "", 1500000, "2000-01-01T00:00:00.001500"},
		{"fortnights since 2000-1-1", "", 1, "2000-01-15T00:00:00"},
		{"days since -4713-01-01 12:00:00", "", 2440588, "1970-01-01T12:00:00"},
		{"days since 0001-01-01", "no_leap", 365, "0002-01-01T00:00:00"},
		// CDO and xarray agree on these, cftime does not; see yearLast.
		{"days since 1-1-1970", "", 0, "1970-01-01T00:00:00"},
		{"hours since 01-01-1970 12:30", "noleap", 1, "1970-01-01T13:30:00"},
		{"days since 15-6-1970 00:00 +01", "", 0, "1970-06-14T23:00:00"},
		{"days since 06-6-1900", "360_day", 31, "1900-07-07T00:00:00"},
	} {
		u, err := ParseUnits(c.units, c.calendar)
		require.NoError(t, err, c.units)
		d, ok := u.Date(c.x)
		require.True(t, ok)
		require.Equal(t, c.want, d.String(), c.units)
	}
	for units, want := range map[string]string{
		"K":                             `cf: units "K": not a time`,
		"days":                          `cf: units "days": not a time`,
		"":                              `cf: units "": not a time`,
		"m from 5":                      `cf: units "m from 5": not a time`,
		"K @ 273.15":                    `cf: units "K @ 273.15": not a time`,
		"months since 2000-01-01":       `cf: units "months since 2000-01-01": expected nanoseconds to weeks since a date, found "months"`,
		"day as %Y%m%d.%f":              `cf: units "day as %Y%m%d.%f": expected a unit since a date, found dates as numbers`,
		"seconds since":                 `cf: units "seconds since": expected a date and time, found ""`,
		"0.1 ns since 2000-01-01":       `cf: units "0.1 ns since 2000-01-01": expected a factor that gives nanoseconds, found 0.1`,
		"days since 2000-1-1 -6":        `cf: units "days since 2000-1-1 -6": expected a time of day before the time zone, found "2000-1-1 -6", which programs take for different times`,
		"days since 2000-1-1 6:00 EST":  `cf: units "days since 2000-1-1 6:00 EST": expected a date and time, found "2000-1-1 6:00 EST"`,
		"days since 2000-1-1 6:00 +25":  `cf: units "days since 2000-1-1 6:00 +25": expected a date and time, found "2000-1-1 6:00 +25"`,
		"days since 2000-1-1 6:00 +053": `cf: units "days since 2000-1-1 6:00 +053": expected a date and time, found "2000-1-1 6:00 +053"`,
		"days since 2000-1-1 123":       `cf: units "days since 2000-1-1 123": expected a date and time, found "2000-1-1 123"`,
		"days since yesterday":          `cf: units "days since yesterday": expected a date and time, found "yesterday"`,
		"days since 2000-13-01":         `cf: units "days since 2000-13-01": cf: there is no date 2000-13-01T00:00:00`,
		"days since 1582-10-10":         `cf: units "days since 1582-10-10": cf: there is no date 1582-10-10T00:00:00 in calendar standard`,
		"days since 2001-02-29":         `cf: units "days since 2001-02-29": cf: there is no date 2001-02-29T00:00:00 in calendar standard`,
		"days since 1-6-1970":           `cf: units "days since 1-6-1970": expected a date with the year first, found "1-6-1970", in which programs take different numbers for the month`,
		"days since 12-31-1999":         `cf: units "days since 12-31-1999": expected a date with the year first, found "12-31-1999", in which programs take different numbers for the month`,
		"days since 32-1-1999":          `cf: units "days since 32-1-1999": cf: there is no date 1999-01-32T00:00:00 in calendar standard`,
		"days since 1-1-19700":          `cf: units "days since 1-1-19700": expected a date and time, found "1-1-19700"`,
		"days since 1-1-197":            `cf: units "days since 1-1-197": expected a date and time, found "1-1-197"`,
		"days since 2000-01-0530":       `cf: units "days since 2000-01-0530": expected a time of day before the time zone, found "2000-01-0530", which programs take for different times`,
		"days since 2000-1-1-05":        `cf: units "days since 2000-1-1-05": expected a time of day before the time zone, found "2000-1-1-05", which programs take for different times`,
		"days since 99999999-1-1":       `cf: units "days since 99999999-1-1": expected a date and time, found "99999999-1-1"`,
	} {
		_, err := ParseUnits(units, "")
		require.EqualError(t, err, want)
	}
	u, err := ParseUnits("days since 2000-01-01", "")
	require.NoError(t, err)
	for _, x := range []float64{math.NaN(), math.Inf(1), 1e300, -1e18} {
		_, ok := u.Date(x)
		require.False(t, ok)
	}
}

// TestTimes checks that dates survive the conversion to times and back.
func TestTimes(t *testing.T) {
	rng := rand.New(rand.NewSource(1))
	for _, c := range calendars {
		for range 2000 {
			want := Time(rng.Int63n(2*maxTime/4) - maxTime/4)
			d := c.Date(want)
			got, err := c.Time(d)
			require.NoError(t, err)
			require.Equal(t, want, got, "%s: %s", c, d)
		}
	}
	for _, d := range []Date{{Year: maxYear + 1, Month: 1, Day: 1}, {Month: 0, Day: 1}, {Month: 13, Day: 1}, {Month: 1}, {Month: 1, Day: 1, Hour: 24}, {Month: 1, Day: 1, Minute: 60}, {Month: 1, Day: 1, Second: -1}, {Month: 1, Day: 1, Micro: 1e6}} {
		_, err := Standard.Time(d)
		require.Error(t, err)
	}
}

func TestPeriods(t *testing.T) {
	for _, c := range []struct {
		calendar         Calendar
		text, start, end string
		instant          bool
	}{
		{Standard, "2001", "2001-01-01T00:00:00", "2002-01-01T00:00:00", false},
		{Day360, "2001-02", "2001-02-01T00:00:00", "2001-03-01T00:00:00", false},
		{NoLeap, "2000-12", "2000-12-01T00:00:00", "2001-01-01T00:00:00", false},
		{NoLeap, "2000-2-28", "2000-02-28T00:00:00", "2000-03-01T00:00:00", false},
		{Standard, "1582-10-4", "1582-10-04T00:00:00", "1582-10-15T00:00:00", false},
		{Standard, "2001-05-16T12", "2001-05-16T12:00:00", "2001-05-16T13:00:00", true},
		{Standard, "2001-05-16 12:30Z", "2001-05-16T12:30:00", "2001-05-16T12:31:00", true},
		{Standard, "2001-05-16T12:30:15", "2001-05-16T12:30:15", "2001-05-16T12:30:16", true},
		{Standard, "2001-05-16T12:30:15.5", "2001-05-16T12:30:15.500000", "2001-05-16T12:30:15.500001", true},
		{Standard, "-0004", "-0004-01-01T00:00:00", "-0003-01-01T00:00:00", false},
	} {
		p, err := c.calendar.ParsePeriod(c.text)
		require.NoError(t, err, c.text)
		require.Equal(t, c.start, c.calendar.Date(p.Start).String())
		require.Equal(t, c.end, c.calendar.Date(p.End).String())
		require.Equal(t, c.instant, p.Instant)
	}
	for _, s := range []string{"", "1", "2001-", "2001-00", "2001-13", "2001-02-30", "2001-05-16T25", "2001-05-16T12:5", "2001-05-16T12:00:61", "999999", "05-2001"} {
		_, err := Standard.ParsePeriod(s)
		require.Error(t, err, s)
	}
}
