//go:build judge

package formats

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand"
	"os/exec"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/cdf3"
)

// selectJudge selects as xarray does. It reads lines of JSON and prints indices.
const selectJudge = `
import json, sys, warnings
import numpy as np, xarray
warnings.simplefilter("ignore")
for line in sys.stdin:
    c = json.loads(line)
    x = np.array(c["x"], c["type"])
    if c["units"]:
        ds = xarray.Dataset({"i": ("x", np.arange(len(x)))}, {"x": ("x", x, {"units": c["units"], "calendar": c["calendar"]})})
        ds = xarray.decode_cf(ds)
    elif c["circle"]:
        # the axis three times, so that all places near it are on it
        y = np.concatenate([x - 360, x, x + 360])
        y, first = np.unique(y, return_index=True)
        ds = xarray.Dataset({"i": ("x", first % len(x))}, {"x": y})
    else:
        ds = xarray.Dataset({"i": ("x", np.arange(len(x)))}, {"x": x})
    try:
        if c["range"]:
            got = ds.i.sel(x=slice(c["lo"], c["hi"]))
        elif c["near"]:
            got = ds.i.sel(x=c["lo"], method="nearest")
        else:
            got = ds.i.sel(x=c["lo"])
        print(json.dumps(np.atleast_1d(got.values).tolist()))
    except KeyError as e:
        print("[]")
`

// TestJudgeSelect compares selections by value with those of xarray: the nearest value,
// ranges with both ends on ascending and descending coordinates, and partial dates.
func TestJudgeSelect(t *testing.T) {
	type selectCase struct {
		X        []float64 `json:"x"`
		Type     string    `json:"type"`
		Units    string    `json:"units"`
		Calendar string    `json:"calendar"`
		Range    bool      `json:"range"`
		Near     bool      `json:"near"`
		Circle   bool      `json:"circle"`
		Lo       any       `json:"lo"`
		Hi       any       `json:"hi"`
		text     string
	}
	rng := rand.New(rand.NewSource(11))
	var cases []selectCase
	for range 1500 {
		c := selectCase{Type: []string{"f4", "f8"}[rng.Intn(2)], Range: rng.Intn(2) == 0, Near: true}
		used := map[float64]bool{}
		for range 2 + rng.Intn(30) {
			if x := float64(rng.Intn(80)-40) / 4; !used[x] {
				used[x] = true
				c.X = append(c.X, x)
			}
		}
		slices.Sort(c.X)
		down := rng.Intn(2) == 0
		if down {
			slices.Reverse(c.X)
		}
		lo, hi := float64(rng.Intn(200)-100)/8, float64(rng.Intn(200)-100)/8
		if lo > hi != down {
			lo, hi = hi, lo // the order that xarray expects
		}
		c.Lo, c.Hi, c.text = lo, hi, fmt.Sprintf("v[x=%v]", lo)
		if c.Range {
			c.text = fmt.Sprintf("v[x=%v:%v]", lo, hi)
		}
		cases = append(cases, c)
	}
	for range 1000 {
		c := selectCase{Type: "f8", Range: rng.Intn(2) == 0, Near: true, Circle: true}
		from, step := float64(rng.Intn(720)-360), []float64{1, 2.5, 10, 30}[rng.Intn(4)]
		for i := range 1 + rng.Intn(int(360/step)) {
			c.X = append(c.X, from+float64(i)*step)
		}
		first := c.X[0]
		lo := first + float64(rng.Intn(5760)-2880)/8
		hi := lo + float64(rng.Intn(2800))/8
		// Where the judge's three axes suffice.
		lo, hi = min(max(lo, first-350), first+700), min(max(hi, first-350), first+700)
		c.Lo, c.Hi, c.text = lo, hi, fmt.Sprintf("v[x=%v]", lo)
		if c.Range {
			c.text = fmt.Sprintf("v[x=%v:%v]", lo, hi)
		}
		cases = append(cases, c)
	}
	date := func(days bool) string {
		s := fmt.Sprintf("%04d", 2000+rng.Intn(4))
		if n := rng.Intn(3); n > 0 || days {
			s += fmt.Sprintf("-%02d", 1+rng.Intn(12))
			if n > 1 || days {
				s += fmt.Sprintf("-%02d", 1+rng.Intn(28))
			}
		}
		return s
	}
	for range 1500 {
		c := selectCase{Type: "f8", Units: "days since 2000-01-01", Calendar: []string{"standard", "noleap", "360_day", "julian", "all_leap", "proleptic_gregorian"}[rng.Intn(6)], Range: rng.Intn(2) == 0}
		step := []float64{1, 0.25, 7, 30.5, 365}[rng.Intn(5)]
		for i := range 3 + rng.Intn(60) {
			c.X = append(c.X, float64(i)*step+0.125)
		}
		lo, hi := date(false), date(false)
		if hi[:4] < lo[:4] || hi < lo {
			lo, hi = hi, lo
		}
		c.Lo, c.Hi, c.text = lo, hi, fmt.Sprintf("v[x=%s]", lo)
		if c.Range {
			c.text = fmt.Sprintf("v[x=%s:%s]", lo, hi)
		}
		cases = append(cases, c)
	}
	var in bytes.Buffer
	for _, c := range cases {
		require.NoError(t, json.NewEncoder(&in).Encode(c))
	}
	var stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), "/usr/bin/python3", "-W", "ignore", "-c", selectJudge)
	cmd.Stdin, cmd.Stderr = &in, &stderr
	out, err := cmd.Output()
	require.NoError(t, err, "%s", &stderr)
	lines := bytes.Split(bytes.TrimSpace(out), []byte("\n"))
	require.Len(t, lines, len(cases))
	found, crossing := 0, 0
	for i, c := range cases {
		typ := cdf3.Double
		if c.Type == "f4" {
			typ = cdf3.Float
		}
		var attrs []cdf3.Attr
		if c.Units != "" {
			attrs = []cdf3.Attr{textAttr("units", c.Units), textAttr("calendar", c.Calendar)}
		}
		if c.Circle {
			attrs = []cdf3.Attr{textAttr("units", "degrees_east")}
		}
		f := onAxis(typ, c.X, attrs...)
		s, err := ParseSelection(c.text)
		require.NoError(t, err)
		var want []int64
		require.NoError(t, json.Unmarshal(lines[i], &want))
		r, err := s.resolve(t.Context(), f, &f.h.Vars[0], true)
		if len(want) == 0 && !c.Range {
			require.ErrorContains(t, err, "has no time in", "%+v", c)
			continue
		}
		if slices.Sort(want); c.Circle && len(want) > 0 && int64(len(want)) != want[len(want)-1]-want[0]+1 {
			require.ErrorContains(t, err, "crosses the end of the axis", "%+v", c)
			crossing++
			continue
		}
		require.NoError(t, err, "%+v", c)
		got := []int64{}
		for k := range r.axes[0].count {
			got = append(got, r.axes[0].start+k*r.axes[0].delta)
		}
		require.Equal(t, want, got, "%+v", c)
		found += len(got)
	}
	require.Greater(t, found, 10000)
	require.Greater(t, crossing, 50)
}
