package dap_test

import (
	"context"
	"log"
	"os"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/serve/dap"
)

// Answer a request for the first values of a variable.
func ExampleDataset_Parse() {
	ctx := context.Background()
	f, err := archive.Open(ctx, "../../../../../testdata/classic/cdf1_unlimited_last.nc", nil)
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	r, err := dap.New(f, "example.nc").Parse("f[0:1][0:1]")
	if err != nil {
		log.Fatal(err)
	}
	if err := r.ASCII(ctx, os.Stdout); err != nil {
		log.Fatal(err)
	}
	// Output:
	// Dataset {
	//     Float32 f[y = 2][x = 2];
	// } example.nc;
	// ---------------------------------------------
	// f[2][2]
	// [0], 260213.11, 218897.61
	// [1], 49304.22, 260963.67
}
