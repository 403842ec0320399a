package hdf5plugin_test

import (
	"fmt"
	"log"
	"os"

	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/hdf5plugin"
)

// Register the filters of HDF5's plugins, so that archives with them can be read.
func ExampleOpen() {
	set, err := hdf5plugin.Open(&hdf5plugin.Options{Folders: hdf5plugin.SearchPath(nil, os.Getenv)})
	if err != nil {
		log.Fatal(err)
	}
	defer set.Close()
	if err := set.Register(); err != nil {
		log.Fatal(err)
	}
	for _, p := range set.Pairs() {
		fmt.Println(p.ID, p.Path, p.Action())
	}
}
