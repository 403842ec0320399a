package netcdf4_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/formats/netcdf4"
)

// Write a netCDF file, or its archive, as a netCDF-4 file.
func ExampleWrite() {
	ctx := context.Background()
	f, err := archive.Open(ctx, "../../../../../testdata/classic/cdf2_climate.nc", nil)
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	out, err := os.CreateTemp("", "*.nc")
	if err != nil {
		log.Fatal(err)
	}
	defer os.Remove(out.Name())
	defer out.Close()
	res, err := netcdf4.Write(ctx, out, f, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("smaller:", res.Size < f.Size())
	// Output: smaller: true
}
