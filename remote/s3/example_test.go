package s3_test

import (
	"context"
	"log"
	"os"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/remote/s3"
)

// Upload an archive, and open it at its place. Keys and region are found as by other tools:
// in the environment, or in the files of the AWS command line.
func ExampleUpload() {
	ctx := context.Background()
	f, err := os.Open("tas.nc.cdfz")
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		log.Fatal(err)
	}
	if err := s3.Upload(ctx, "s3://bucket/tas.nc.cdfz", f, st.Size(), nil); err != nil {
		log.Fatal(err)
	}

	a, err := archive.Open(ctx, "s3://bucket/tas.nc.cdfz", nil)
	if err != nil {
		log.Fatal(err)
	}
	defer a.Close()
}
