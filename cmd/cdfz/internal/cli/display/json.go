package display

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// JSON returns an object as a line of JSON that is safe for a terminal: unprintable
// characters are escaped. v must be of a type that encoding/json encodes.
func JSON(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic("internal error: " + err.Error())
	}
	return escapeJSON(b.Bytes())
}

// escapeJSON escapes the characters in a line of JSON that a terminal may act on and
// encoding/json does not escape, such as U+009B.
func escapeJSON(line []byte) []byte {
	if bytes.IndexFunc(line, unprintable) == len(line)-1 {
		return line
	}
	out := make([]byte, 0, len(line)+16)
	for _, r := range string(line) {
		switch {
		case !unprintable(r) || r == '\n':
			out = utf8.AppendRune(out, r)
		case r > 0xffff:
			hi, lo := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, hi, lo)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
	}
	return out
}

func unprintable(r rune) bool { return !unicode.IsPrint(r) }
