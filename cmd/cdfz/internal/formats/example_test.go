package formats_test

import (
	"context"
	"os"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/formats"
)

// Write a selection by coordinate values as CSV, with times as text.
func Example() {
	ctx := context.Background()
	f, err := archive.Open(ctx, "../../../../testdata/classic/cdf2_climate.nc", nil)
	check(err)
	defer f.Close()
	sel, err := formats.ParseSelection("tas[time=2001-05:2001-06, lat=52.5, lon=10:20]")
	check(err)
	values, err := sel.Apply(ctx, f, &formats.Options{Time: true})
	check(err)
	w, err := formats.NewWriter(formats.CSV, []*formats.Values{values})
	check(err)
	check(w.Write(ctx, os.Stdout))
	// Output:
	// time,lat,lon,tas
	// 2001-05-16T00:00:00,56.25,12,305.42188
	// 2001-06-16T00:00:00,56.25,12,303.625
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
