package cf_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"sync"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cf"
	"github.com/cdfz-format/cdfz/slab"
)

// Unpack packed numbers. Missing values are NaN.
func ExampleRead() {
	ctx := context.Background()
	f, err := archive.Open(ctx, "../testdata/classic/cdf2_climate.nc", nil)
	check(err)
	defer f.Close()
	pr, err := f.Var("pr") // short, with scale_factor, add_offset and _FillValue
	check(err)
	values, err := cf.Read[float32](ctx, pr, slab.Sel{Start: []int64{0, 0, 2}, Count: []int64{1, 1, 3}}, nil)
	check(err)
	fmt.Println(values)
	// Output: [0.03124237 NaN 0.031868935]
}

// The mean over time of a packed variable, on all processors and without holding it in memory.
func ExampleMissing() {
	ctx := context.Background()
	f, err := archive.Open(ctx, "../testdata/classic/cdf2_climate.nc", nil) // or an archive
	check(err)
	defer f.Close()
	pr, err := f.Var("pr") // short, time, lat, lon
	check(err)
	p, err := pr.Packing()
	check(err)
	missing := cf.Missing[int16](p, p.Stored)
	shape := pr.Shape()
	sum, n := make([]float64, shape[1]*shape[2]), make([]float64, shape[1]*shape[2])
	var mu sync.Mutex
	check(slab.WalkParallel(ctx, p.Array(pr), 0, func(start, count []int64, values []int16) error {
		mu.Lock()
		defer mu.Unlock()
		for i, x := range values {
			if !cf.Contains(missing, x) {
				lat, lon := start[1]+int64(i)/count[2]%count[1], start[2]+int64(i)%count[2]
				sum[lat*shape[2]+lon] += float64(x)
				n[lat*shape[2]+lon]++
			}
		}
		return nil
	}))
	for i := range sum {
		sum[i] = sum[i]/n[i]*p.Scale + p.Offset // NaN without values
	}
	fmt.Printf("%.5f\n", sum[2:5])
	// Output: [0.03051 0.03040 0.03027]
}

// Read times.
func ExampleTimes() {
	ctx := context.Background()
	f, err := archive.Open(ctx, "../testdata/classic/cdf2_climate.nc", nil)
	check(err)
	defer f.Close()
	time, err := f.Var("time")
	check(err)
	times, err := cf.Times(ctx, time, slab.Sel{Count: []int64{2}}, nil)
	check(err)
	fmt.Println(times)
	// Output: [2001-01-16 00:00:00 +0000 UTC 2001-02-16 00:00:00 +0000 UTC]
}

// Write values as JSON, which has no NaN: missing values are null.
func ExampleRead_json() {
	ctx := context.Background()
	f, err := archive.Open(ctx, "../testdata/classic/cdf2_climate.nc", nil)
	check(err)
	defer f.Close()
	pr, err := f.Var("pr")
	check(err)
	values, err := cf.Read[float32](ctx, pr, slab.Sel{Start: []int64{0, 0, 2}, Count: []int64{1, 1, 3}}, nil)
	check(err)
	out := make([]*float32, len(values))
	for i, x := range values {
		if !math.IsNaN(float64(x)) {
			out[i] = &values[i]
		}
	}
	text, err := json.Marshal(out)
	check(err)
	fmt.Printf("%s\n", text)
	// Output: [0.03124237,null,0.031868935]
}

// Read times of a calendar that time.Time does not have, such as 360_day with its 30th of February.
func ExampleUnits_Date() {
	ctx := context.Background()
	f, err := archive.Open(ctx, "../testdata/classic/cdf2_climate.nc", nil)
	check(err)
	defer f.Close()
	v, err := f.Var("time")
	check(err)
	u, err := v.Units()
	check(err)
	days, err := cf.Read[float64](ctx, v, slab.Sel{Start: []int64{1}, Count: []int64{1}}, nil)
	check(err)
	date, ok := u.Date(days[0] + 14)
	fmt.Println(u.Calendar, date, ok)
	// Output: 360_day 2001-02-30T00:00:00 true
}

// Convert numbers to dates.
func ExampleParseUnits() {
	u, err := cf.ParseUnits("hours since 2000-02-28", "noleap")
	check(err)
	date, ok := u.Date(30.5)
	fmt.Println(date, ok)
	// Output: 2000-03-01T06:30:00 true
}

// Convert a date to a number.
func ExampleUnits_Number() {
	u, err := cf.ParseUnits("days since 1850-01-01", "standard")
	check(err)
	t, err := u.Calendar.Time(cf.Date{Year: 2001, Month: 5, Day: 16, Hour: 12})
	check(err)
	fmt.Println(u.Number(t))
	// Output: 55287.5
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
