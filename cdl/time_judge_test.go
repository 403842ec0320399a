//go:build judge

package cdl

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cdf3"
)

var (
	judgeUnits = []string{"sec", "seconds", "S", "min", "minutes", "mn", "hour", "hours", "hr", "h", "day", "Days", "dy", "d", "week", "wk", "month", "months", "mo", "season", "year", "years", "yr", "decade"}
	judgeBases = []string{"1970-01-01", "2000-01-01 12:30:15", "1850-1-1 00:00:0.0", "1582-10-15", "1582-10-04 06:00", "0001-01-01 00:00:00", "1582-10-5 0:0:0", "1-1-1",
		"2000-02-28T23:59:59Z", "1999-12-31 00:00:00 +05:30", "2001-02-30", "0000-01-01", "2000", "2000-05", "1990-13-01", "1990-01-01 25:00", "1990-01-01 12:61", "1990-01-01 12:30:61", "-0100-06-15 01:02:03.25"}
	judgeCalendars = []string{"", "gregorian", "standard", "proleptic_gregorian", "noleap", "no_leap", "365_day", "all_leap", "366_day", "360_day", "julian", "NOLEAP", "36", "j", "lunar"}
)

// timesImage returns a file of time variables with random units, calendars and values.
func timesImage(t *testing.T, r *rand.Rand) []byte {
	h := &cdf3.Header{Version: cdf3.Data64, Dims: []cdf3.Dim{{Name: "x", Len: 12}, {Name: "bnds", Len: 2}}}
	var values [][]byte
	add := func(v cdf3.Var, n int, most float64) {
		var b []byte
		for range n {
			x := r.NormFloat64() * min(most, []float64{1, 100, 40000, 1e6}[r.Intn(4)])
			if r.Intn(3) > 0 {
				x = math.Trunc(x*8) / 8
			}
			if r.Intn(20) == 0 {
				x = []float64{math.NaN(), math.Inf(1), 0, math.Copysign(0, -1)}[r.Intn(4)]
			}
			switch v.Type {
			case cdf3.Double:
				b = binary.BigEndian.AppendUint64(b, math.Float64bits(x))
			case cdf3.Float:
				b = binary.BigEndian.AppendUint32(b, math.Float32bits(float32(x)))
			case cdf3.Int:
				b = binary.BigEndian.AppendUint32(b, uint32(int32((r.Float64()-0.5)*most)))
			case cdf3.Int64:
				b = binary.BigEndian.AppendUint64(b, uint64(int64((r.Float64()-0.5)*most)))
			default:
				b = binary.BigEndian.AppendUint16(b, uint16(r.Intn(1<<16)))
			}
		}
		h.Vars = append(h.Vars, v)
		values = append(values, b)
	}
	for i := range 60 {
		v := cdf3.Var{Name: fmt.Sprintf("t%d", i), Type: []cdf3.Type{cdf3.Double, cdf3.Double, cdf3.Float, cdf3.Int, cdf3.Int64, cdf3.Short}[r.Intn(6)], DimIDs: []int{0}}
		base := judgeBases[r.Intn(len(judgeBases))]
		unit := judgeUnits[r.Intn(len(judgeUnits))]
		most := 1e6
		if strings.ContainsAny(unit[:1], "my") || unit == "season" {
			most = 3000 // within the years that are written
			if base == "1990-13-01" {
				base = "1990-12-01" // ncdump would write uninitialized memory
			}
		}
		v.Attrs = append(v.Attrs, textAttr("units", unit+" since "+base))
		if c := judgeCalendars[r.Intn(len(judgeCalendars))]; c != "" {
			v.Attrs = append(v.Attrs, textAttr("calendar", c))
		}
		for k, n := range []int{1, 2, 3, 9} {
			if r.Intn(3) == 0 {
				var b []byte
				for range n {
					b = binary.BigEndian.AppendUint64(b, math.Float64bits(math.Trunc(r.NormFloat64()*100)))
				}
				v.Attrs = append(v.Attrs, cdf3.Attr{Name: fmt.Sprintf("range%d", k), Type: cdf3.Double, Len: int64(n), Values: b})
			}
		}
		if r.Intn(3) == 0 {
			v.Attrs = append(v.Attrs, textAttr("bounds", fmt.Sprintf("b%d", r.Intn(60))))
		}
		add(v, 12, most)
		b := cdf3.Var{Name: fmt.Sprintf("b%d", i), Type: v.Type, DimIDs: []int{0, 1}}
		if r.Intn(3) == 0 {
			b.Attrs = append(b.Attrs, textAttr("units", "days since 2000-01-01"))
		}
		add(b, 24, 3000)
	}
	require.NoError(t, h.Layout())
	image, err := h.Append(nil)
	require.NoError(t, err)
	for i := range h.Vars {
		image = append(image, make([]byte, h.Vars[i].Begin-int64(len(image)))...)
		image = append(image, values[i]...)
	}
	return image
}

// TestJudgeTimes compares times with those of ncdump -t and -i.
func TestJudgeTimes(t *testing.T) {
	dir := t.TempDir()
	r := rand.New(rand.NewSource(3))
	for i := range 40 {
		image := timesImage(t, r)
		path := filepath.Join(dir, fmt.Sprintf("times%d.nc", i))
		require.NoError(t, os.WriteFile(path, image, 0o666))
		f, err := archive.New(t.Context(), bytes.NewReader(image), int64(len(image)), nil)
		require.NoError(t, err)
		for _, c := range []comparison{
			{flags: []string{"-t"}, o: Options{Times: true}},
			{flags: []string{"-i", "-l", "60"}, o: Options{Times: true, ISO: true, LineLen: 60}},
		} {
			want, ok := ncdump(t, append(c.flags, path)...)
			require.True(t, ok)
			c.o.Name = Name(path)
			var got bytes.Buffer
			require.NoError(t, Dump(context.Background(), &got, f, &c.o))
			require.True(t, bytes.Equal(want, got.Bytes()), "%v: %s", c.flags, difference(want, got.Bytes()))
		}
	}
}
