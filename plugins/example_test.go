package plugins_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/filters"
	"github.com/cdfz-format/cdfz/plugins"
)

// Write an archive with a filter of a plugin, and read it. A program that only reads calls Load, too.
func ExampleLoad() {
	ctx := context.Background()
	if err := plugins.Load(nil); err != nil { // as HDF5_PLUGIN_PATH says
		log.Fatal(err)
	}
	var o archive.WriteOptions
	if err := o.AddFilter("tas", filters.Filter{ID: 32013, Params: []uint32{5}}); err != nil { // zfp, reversible
		log.Fatal(err)
	}
	image, err := os.Open("tas.nc")
	if err != nil {
		log.Fatal(err)
	}
	defer image.Close()
	st, err := image.Stat()
	if err != nil {
		log.Fatal(err)
	}
	if _, err := archive.WriteFile(ctx, "tas.nc.cdfz", image, st.Size(), &o, nil); err != nil {
		log.Fatal(err)
	}
	f, err := archive.Open(ctx, "tas.nc.cdfz", nil)
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	tas, err := f.Var("tas")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(tas.Chain())
}
