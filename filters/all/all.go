// Package all registers all filters that package filters does not have itself: those of HDF5, of its
// plugins and of numcodecs that the presets do not choose. Import it for its side effect to read and write blocks with any of
// them:
//
//	import _ "github.com/cdfz-format/cdfz/filters/all"
//
// It adds fletcher32 (3), szip (4), nbit (5), scaleoffset (6), bzip2 (307), lzf (32000), blosc
// (32001), lz4 (32004) and bitshuffle (32008), and codecs of numcodecs with private ids. Archives
// that were written with a preset need none of them, and a program without this package is
// smaller. docs/filters.md describes all filters.
//
// Each filter is a [filters.Method] in the file of its family. Its id is in ids.go of package
// filters. The packages under internal make and read the stored bytes, and know neither chains nor
// methods.
package all

import (
	"slices"

	"github.com/cdfz-format/cdfz/filters"
)

func init() {
	for _, m := range slices.Concat(checksums, compressors, shufflers, packers, ofNumcodecs) {
		if err := filters.Register(m); err != nil {
			panic("internal error: " + err.Error())
		}
	}
}
