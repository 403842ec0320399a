package cf_test

import (
	"context"
	"fmt"
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
