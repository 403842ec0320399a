package fusefs_test

import (
	"log"

	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/fusefs"
)

// Show the archives below a folder as netCDF files until somebody unmounts it.
func ExampleMount() {
	s, err := fusefs.Mount("archives", "/mnt/nc", &fusefs.Options{Cache: 1 << 30})
	if err != nil {
		log.Fatal(err)
	}
	s.Wait()
}
