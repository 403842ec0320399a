package filters

import "slices"

// builtin returns the filters of the program.
func builtin() []Method {
	return slices.Concat(bytewise, compressors, shufflers, packers, ofNumcodecs, []Method{lorenzMethod})
}

// The built-in filters are registered in the same way as those of other packages.
func init() {
	for _, m := range builtin() {
		if err := Register(m); err != nil {
			panic("internal error: " + err.Error())
		}
	}
}
