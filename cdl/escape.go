package cdl

import (
	"bytes"
	"strings"
)

// escaped marks the characters of names that get a backslash.
var escaped = func() (t [256]bool) {
	for _, c := range []byte(" !\"#$&'()*,:;<=>?[]\\^`{|}~") {
		t[c] = true
	}
	return t
}()

const hexDigits = "0123456789abcdef"

// appendName appends a name up to its first NUL, with escapes. A leading digit is
// escaped too. ncdump stops at a name that begins with a blank or a control character.
// Here such names are escaped like others.
func appendName(dst []byte, s string) []byte {
	s = cString(s)
	if s != "" && s[0] >= '0' && s[0] <= '9' {
		dst = append(dst, '\\')
	}
	for i := range len(s) {
		switch c := s[i]; {
		case c < 0x20 || c == 0x7f:
			dst = append(dst, '\\', '%', hexDigits[c>>4], hexDigits[c&15])
		case escaped[c]:
			dst = append(dst, '\\', c)
		default:
			dst = append(dst, c)
		}
	}
	return dst
}

// short maps characters to escapes of one letter.
var short = [256]byte{
	'\b': 'b', '\f': 'f', '\n': 'n', '\r': 'r', '\t': 't', '\v': 'v', '\\': '\\', '\'': '\'', '"': '"',
}

// appendAttrByte appends a character of a text attribute. Bytes that are not ASCII are
// kept.
func appendAttrByte(dst []byte, c byte) []byte {
	switch {
	case c == '\n':
		return append(dst, "\\n\",\n\t\t\t\""...)
	case short[c] != 0:
		return append(dst, '\\', short[c])
	case c < 0x20 || c == 0x7f:
		return appendOctal(dst, c)
	}
	return append(dst, c)
}

// appendDataByte appends a character of a variable. Bytes that are not ASCII are
// escaped.
func appendDataByte(dst []byte, c byte) []byte {
	switch {
	case c == '\n':
		return append(dst, "\\n\",\n    \""...)
	case short[c] != 0:
		return append(dst, '\\', short[c])
	case c < 0x20 || c >= 0x7f:
		return appendOctal(dst, c)
	}
	return append(dst, c)
}

func appendOctal(dst []byte, c byte) []byte {
	return append(dst, '\\', '0'+c>>6, '0'+c>>3&7, '0'+c&7)
}

// trimNUL returns s without trailing NULs.
func trimNUL(s []byte) []byte { return bytes.TrimRight(s, "\x00") }

// cString returns s up to the first NUL.
func cString(s string) string {
	s, _, _ = strings.Cut(s, "\x00")
	return s
}
