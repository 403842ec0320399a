// Package latin shows text of netCDF files, whose encoding no file names, for everything that writes UTF-8: Zarr
// stores, the JSON of cdfz get, the pages of cdfz serve, and catalogues.
package latin

import "unicode/utf8"

// Text returns text of a netCDF file in UTF-8. Text that is not UTF-8 is taken as Latin-1, so that no byte is
// lost: older programs write attributes such as "m² s-1" in it.
func Text(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	out := make([]rune, len(s))
	for i := range len(s) {
		out[i] = rune(s[i])
	}
	return string(out)
}

// Whole returns the first bytes of a longer text without a character of UTF-8 that was cut off. Text would take all
// of them as Latin-1 with it.
func Whole(s string) string {
	for i := len(s) - 1; i >= max(0, len(s)-utf8.UTFMax); i-- {
		if utf8.RuneStart(s[i]) {
			if !utf8.FullRuneInString(s[i:]) {
				return s[:i]
			}
			break
		}
	}
	return s
}
