package filetime

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTime(t *testing.T) {
	for _, c := range []struct {
		sec, ns  int64
		in, text string
	}{
		{0, 0, "1970-01-01T00:00:00Z", "1970-01-01T00:00:00Z"},
		{-1, 5, "1969-12-31T23:59:59.000000005Z", "1969-12-31T23:59:59Z"},
		{253402300799, 999999999, "9999-12-31T23:59:59.999999999Z", "9999-12-31T23:59:59Z"},
		{253402300800, 0, "@253402300800", "@253402300800"},
		{300000000000, 5e8, "@300000000000.5", "@300000000000"},
		{-62135596800, 0, "0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z"},
		{-62167219200, 0, "0000-01-01T00:00:00Z", "0000-01-01T00:00:00Z"},
		{-62167219201, 999999999, "@-62167219200.000000001", "@-62167219201"},
		{-100000000000, 0, "@-100000000000", "@-100000000000"},
		{math.MaxInt64, 999999999, "@9223372036854775807.999999999", "@9223372036854775807"},
		{math.MinInt64, 0, "@-9223372036854775808", "@-9223372036854775808"},
		{math.MinInt64, 1, "@-9223372036854775807.999999999", "@-9223372036854775808"},
	} {
		at := time.Unix(c.sec, c.ns).In(time.FixedZone("", 14*3600))
		b, err := json.Marshal(struct{ T Time }{Time{at}})
		require.NoError(t, err)
		require.Equal(t, `{"T":"`+c.in+`"}`, string(b))
		var back struct{ T Time }
		require.NoError(t, json.Unmarshal(b, &back))
		require.Equal(t, [2]int64{c.sec, c.ns}, [2]int64{back.T.Unix(), int64(back.T.Nanosecond())})
		require.True(t, at.Equal(back.T.Time))
		require.Equal(t, c.text, Text(at))
	}
}

func TestTimeRefused(t *testing.T) {
	for _, s := range []string{`"@"`, `"@0"`, `"@-0.5"`, `"@1e12"`, `"@+300000000000"`, `"@0300000000000"`, `"@300000000000."`, `"@300000000000.50"`, `"@300000000000.0000000001"`,
		`"@300000000000.-1"`, `"@9223372036854775808"`, `"@-9223372036854775808.5"`, `"@300000000000Z"`, `"+11476-08-15T05:20:00Z"`, `"11476-08-15T05:20:00Z"`, `300000000000`} {
		require.Error(t, json.Unmarshal([]byte(s), new(Time)), s)
	}
}

func TestAfter(t *testing.T) {
	last := time.Unix(math.MinInt64, 0)
	for _, at := range []time.Time{time.Unix(math.MinInt64, 1), {}, time.Unix(-1, 0), time.Unix(-1, 1), time.Unix(300000000000, 0), time.Unix(math.MaxInt64, 0), time.Unix(math.MaxInt64, 1)} {
		require.True(t, After(at, last))
		require.False(t, After(last, at))
		require.False(t, After(at, at))
		last = at
	}
}
