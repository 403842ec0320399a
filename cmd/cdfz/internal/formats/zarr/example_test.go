package zarr_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/formats/zarr"
)

// Write a netCDF file, or its archive, as a Zarr store.
func ExampleWrite() {
	ctx := context.Background()
	f, err := archive.Open(ctx, "../../../../../testdata/classic/cdf2_climate.nc", nil)
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	store := filepath.Join(dir, "climate.zarr")
	res, err := zarr.Write(ctx, store, f, &zarr.Options{Format: 3})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("left out:", res.Missing)
	text, err := os.ReadFile(filepath.Join(store, "tas", "zarr.json"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(json.Valid(text))
	// Output:
	// left out: []
	// true
}
