package filters

import "slices"

// The built-in filters are registered in the same way as those of other packages.
func init() {
	for _, m := range slices.Concat(bytewise, compressors, shufflers, packers, ofNumcodecs, []Method{lorenzMethod}) {
		if err := Register(m); err != nil {
			panic("internal error: " + err.Error())
		}
	}
}
