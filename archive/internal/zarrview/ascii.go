package zarrview

import (
	"fmt"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/cdfz-format/cdfz/archive/internal/plan"
)

// encodeASCII encodes JSON with all characters beyond ASCII escaped. zarr-python up to
// 2.13 refuses others (zarr-developers/zarr-python#1308).
func encodeASCII(v any) []byte {
	data := plan.EncodeJSON(v)
	if isASCII(data) {
		return data
	}
	out := make([]byte, 0, len(data))
	for _, r := range string(data) {
		switch {
		case r < utf8.RuneSelf:
			out = append(out, byte(r))
		case r > 0xffff:
			hi, lo := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, hi, lo)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
	}
	return out
}

func isASCII(b []byte) bool {
	for _, c := range b {
		if c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
