package mount_test

import (
	"log"

	"github.com/cdfz-format/cdfz/internal/mount"
)

// Show the archives below a folder as netCDF files until somebody unmounts it.
func ExampleMount() {
	s, err := mount.Mount("archives", "/mnt/nc", &mount.Options{Cache: 1 << 30})
	if err != nil {
		log.Fatal(err)
	}
	s.Wait()
}
