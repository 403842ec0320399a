package display

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// JSON returns an object as a line of JSON that is safe for a terminal: unprintable
// characters are escaped. v must be of a type that encoding/json encodes. If it is a report, a name of a
// file that is not UTF-8 has its bytes in a field after the others (see nameBytes).
func JSON(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic("internal error: " + err.Error())
	}
	return withBytes(escapeJSON(b.Bytes()), v)
}

// nameBytes are the fields of reports that name files, and those for their bytes, in base64, where a name is not UTF-8.
// JSON has U+FFFD there, which names no file. Logs and receipts have fields of the same names.
var nameBytes = map[string]string{
	"file": "source_bytes", "source": "source_bytes", "target": "target_bytes", "archive": "archive_bytes",
	"image": "image_bytes", "replaced": "replaced_bytes", "planned_target": "planned_target_bytes",
}

// withBytes adds the bytes of names that are not UTF-8 to the JSON of a report.
func withBytes(line []byte, v any) []byte {
	x := reflect.Indirect(reflect.ValueOf(v))
	if x.Kind() != reflect.Struct {
		return line
	}
	for _, f := range reflect.VisibleFields(x.Type()) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		to := nameBytes[name]
		if to == "" || f.Type.Kind() != reflect.String {
			continue
		}
		s, err := x.FieldByIndexErr(f.Index)
		if err != nil || utf8.ValidString(s.String()) { // an error is a nil pointer to an embedded struct
			continue
		}
		line = fmt.Appendf(bytes.TrimSuffix(line, []byte("}\n")), ",%q:%q}\n", to, base64.StdEncoding.EncodeToString([]byte(s.String())))
	}
	return line
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
