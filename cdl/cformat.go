package cdl

import (
	"bytes"
	"encoding/binary"
	"math"
	"strconv"
	"strings"

	"github.com/cdfz-format/cdfz/cdf3"
)

// format is a printf format of C for one number, with text around it.
type format struct {
	before, after                 string
	minus, plus, blank, alt, zero bool
	width, prec                   int // prec is -1 if absent
	length                        string
	verb                          byte // 0 for text only
}

const (
	// maxFormat is the length from which ncdump ignores a C_format attribute.
	maxFormat = 100
	// maxOutput is the length of the longest formatted value that fits into ncdump's buffer.
	maxOutput = 99
)

// parseFormat parses a format. ok is false if C leaves the output undefined, and for
// conversions that nobody uses.
func parseFormat(s string) (f format, ok bool) {
	f.before, s, ok = literal(s)
	if !ok || s == "" {
		return f, ok
	}
	n := 1 + len(s[1:]) - len(strings.TrimLeft(s[1:], "-+ #0"))
	for _, c := range []byte(s[1:n]) {
		switch c {
		case '-':
			f.minus = true
		case '+':
			f.plus = true
		case ' ':
			f.blank = true
		case '#':
			f.alt = true
		case '0':
			f.zero = true
		}
	}
	s = s[n:]
	f.prec = -1
	if f.width, s, ok = number(s); !ok {
		return f, false
	}
	if strings.HasPrefix(s, ".") {
		if f.prec, s, ok = number(s[1:]); !ok {
			return f, false
		}
	}
	n = len(s) - len(strings.TrimLeft(s, "hljzt"))
	f.length, s = s[:n], s[n:]
	if s == "" || strings.IndexByte("diouxXcfFeEgG", s[0]) < 0 {
		return f, false
	}
	f.verb = s[0]
	f.after, s, ok = literal(s[1:])
	return f, ok && s == ""
}

// literal splits off the text before a conversion. rest begins with the conversion.
func literal(s string) (text, rest string, ok bool) {
	var b []byte
	for i := 0; i < len(s); i++ {
		if s[i] == '%' {
			if !strings.HasPrefix(s[i:], "%%") {
				return string(b), s[i:], len(s) > i+1
			}
			i++
		}
		b = append(b, s[i])
	}
	return string(b), "", true
}

// number parses the decimal number at the start of s. Without one it returns 0.
func number(s string) (n int, rest string, ok bool) {
	for s != "" && s[0] >= '0' && s[0] <= '9' {
		if n = n*10 + int(s[0]-'0'); n > maxOutput {
			return 0, s, false
		}
		s = s[1:]
	}
	return n, s, true
}

// appender returns nil if the format is for another type.
func (f *format) appender(t cdf3.Type) appender {
	float := t == cdf3.Float || t == cdf3.Double
	if f.verb != 0 && strings.IndexByte("fFeEgG", f.verb) >= 0 != float {
		return nil
	}
	if float && f.length != "" && f.length != "l" {
		return nil
	}
	return func(dst, b []byte) []byte {
		start := len(dst)
		if float {
			x := toFloat(t, b)
			if math.IsNaN(x) || math.IsInf(x, 0) {
				dst = appendSpecial(dst, x)
				if t == cdf3.Float {
					dst = append(dst, 'f')
				}
				return dst
			}
			dst = append(dst, f.before...)
			dst = f.appendFloat(dst, x)
		} else {
			dst = append(dst, f.before...)
			dst = f.appendInt(dst, toInt(t, b))
		}
		dst = append(dst, f.after...)
		if i := bytes.IndexByte(dst[start:], 0); i >= 0 {
			dst = dst[:start+i]
		}
		return dst[:min(len(dst), start+maxOutput)]
	}
}

func toFloat(t cdf3.Type, b []byte) float64 {
	if t == cdf3.Float {
		return float64(math.Float32frombits(binary.BigEndian.Uint32(b)))
	}
	return math.Float64frombits(binary.BigEndian.Uint64(b))
}

// toInt returns a value as it lies in a 64-bit register: C passes short integers as int
// and leaves the upper half zero.
func toInt(t cdf3.Type, b []byte) uint64 {
	switch t {
	case cdf3.Byte, cdf3.Char:
		return uint64(uint32(int8(b[0])))
	case cdf3.UByte:
		return uint64(b[0])
	case cdf3.Short:
		return uint64(uint32(int16(binary.BigEndian.Uint16(b))))
	case cdf3.UShort:
		return uint64(binary.BigEndian.Uint16(b))
	case cdf3.Int, cdf3.UInt:
		return uint64(binary.BigEndian.Uint32(b))
	}
	return binary.BigEndian.Uint64(b)
}

// appendInt appends a number as d, i, o, u, x, X or c.
func (f *format) appendInt(dst []byte, n uint64) []byte {
	signed := f.verb == 'd' || f.verb == 'i'
	switch {
	case f.verb == 0:
		return dst
	case f.verb == 'c':
		return f.pad(dst, "", string([]byte{byte(n)}), false)
	case f.length == "hh" && signed:
		n = uint64(int8(n))
	case f.length == "h" && signed:
		n = uint64(int16(n))
	case f.length == "" && signed:
		n = uint64(int32(n))
	case f.length == "hh":
		n = uint64(uint8(n))
	case f.length == "h":
		n = uint64(uint16(n))
	case f.length == "":
		n = uint64(uint32(n))
	}
	sign := ""
	if signed {
		if int64(n) < 0 {
			sign, n = "-", -n
		} else {
			sign = f.sign()
		}
	}
	base := 10
	switch f.verb {
	case 'o':
		base = 8
	case 'x', 'X':
		base = 16
	}
	s := strconv.FormatUint(n, base)
	if f.prec == 0 && n == 0 {
		s = ""
	}
	if len(s) < f.prec {
		s = strings.Repeat("0", f.prec-len(s)) + s
	}
	if f.alt && base == 8 && !strings.HasPrefix(s, "0") {
		s = "0" + s
	}
	if f.alt && base == 16 && n != 0 {
		sign = "0x"
	}
	if f.verb == 'X' {
		s, sign = strings.ToUpper(s), strings.ToUpper(sign)
	}
	return f.pad(dst, sign, s, f.zero && f.prec < 0)
}

// sign returns the text before a non-negative number.
func (f *format) sign() string {
	switch {
	case f.plus:
		return "+"
	case f.blank:
		return " "
	}
	return ""
}

// appendFloat appends a finite number as f, e or g.
func (f *format) appendFloat(dst []byte, x float64) []byte {
	if f.verb == 0 {
		return dst
	}
	sign := f.sign()
	if math.Signbit(x) {
		sign, x = "-", -x
	}
	prec := f.prec
	if prec < 0 {
		prec = 6
	}
	var s string
	switch f.verb {
	case 'f', 'F':
		s = strconv.FormatFloat(x, 'f', prec, 64)
	case 'e', 'E':
		s = strconv.FormatFloat(x, 'e', prec, 64)
	default:
		prec = max(prec, 1)
		s = strconv.FormatFloat(x, 'g', prec, 64)
		if f.alt {
			s = zeros(s, x, prec)
		}
	}
	if f.alt && !strings.Contains(s, ".") {
		if mantissa, exp, ok := strings.Cut(s, "e"); ok {
			s = mantissa + ".e" + exp
		} else {
			s += "."
		}
	}
	if f.verb == 'E' || f.verb == 'G' {
		s = strings.ToUpper(s)
	}
	return f.pad(dst, sign, s, f.zero)
}

// zeros pads a number printed with %g, which drops trailing zeros, to the digits of
// %#g.
func zeros(s string, x float64, prec int) string {
	mantissa, exp, hasExp := strings.Cut(s, "e")
	have := len(strings.TrimLeft(strings.Replace(mantissa, ".", "", 1), "0"))
	if x == 0 {
		have = 1
	}
	if have < prec {
		if !strings.Contains(mantissa, ".") {
			mantissa += "."
		}
		mantissa += strings.Repeat("0", prec-have)
	}
	if hasExp {
		return mantissa + "e" + exp
	}
	return mantissa
}

// pad appends a number, padded to the width of the format.
func (f *format) pad(dst []byte, sign, s string, zero bool) []byte {
	n := max(0, f.width-len(sign)-len(s))
	switch {
	case f.minus:
		dst = append(append(dst, sign...), s...)
		return appendRepeat(dst, ' ', n)
	case zero:
		return append(appendRepeat(append(dst, sign...), '0', n), s...)
	}
	return append(append(appendRepeat(dst, ' ', n), sign...), s...)
}

func appendRepeat(dst []byte, c byte, n int) []byte {
	for range n {
		dst = append(dst, c)
	}
	return dst
}
