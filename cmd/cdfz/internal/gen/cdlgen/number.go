package cdlgen

import (
	"math"
	"strconv"
	"strings"

	"github.com/cdfz-format/cdfz/cdf3"
)

// specialNumbers are names that stand for numbers (ncgen.l of netCDF-C).
var specialNumbers = map[string]constant{
	"_":   {kind: filler},
	"NaN": {kind: floating, typ: cdf3.Double, f: math.NaN()}, "nan": {kind: floating, typ: cdf3.Double, f: math.NaN()},
	"NaNf": {kind: floating, typ: cdf3.Float, f: math.NaN()}, "nanf": {kind: floating, typ: cdf3.Float, f: math.NaN()},
	"Infinity": {kind: floating, typ: cdf3.Double, f: math.Inf(1)}, "DoubleInf": {kind: floating, typ: cdf3.Double, f: math.Inf(1)},
	"Infinityf": {kind: floating, typ: cdf3.Float, f: math.Inf(1)}, "Inff": {kind: floating, typ: cdf3.Float, f: math.Inf(1)},
	"FloatInf": {kind: floating, typ: cdf3.Float, f: math.Inf(1)},
}

// suffixes are the types that follow integers, in lower case. L is an int, or an int64 if
// the number is too large for an int.
var suffixes = map[string]cdf3.Type{
	"b": cdf3.Byte, "s": cdf3.Short, "l": cdf3.Int, "ll": cdf3.Int64,
	"ub": cdf3.UByte, "us": cdf3.UShort, "u": cdf3.UInt, "ul": cdf3.UInt, "ull": cdf3.UInt64,
	"bu": cdf3.UByte, "su": cdf3.UShort, "lu": cdf3.UInt, "llu": cdf3.UInt64,
}

// maxNumber is the longest number. ncdump writes at most 30 characters.
const maxNumber = 1024

// scanNumber scans a number after its sign.
func (l *lexer) scanNumber(t token, negative bool) (token, error) {
	t.kind = tokNumber
	b := l.word[:0]
	isFloat, hex := false, l.peek(0) == '0' && (l.peek(1) == 'x' || l.peek(1) == 'X')
	if hex {
		l.next()
		l.next()
	}
	for c := l.peek(0); nameByte(c); c = l.peek(0) {
		switch {
		case c == '+' || c == '-':
			// A sign belongs to the number only after the e of an exponent.
			if hex || len(b) == 0 || b[len(b)-1]|0x20 != 'e' {
				return t, l.failAt(l.here(), "unexpected %s in a number", strconv.QuoteRune(rune(c)))
			}
		case !hex && (c == '.' || (c|0x20 == 'e')):
			isFloat = true
		}
		if b = append(b, l.next()); len(b) > maxNumber {
			return t, l.failAt(t.place, "number longer than %d characters", maxNumber)
		}
	}
	l.word = b
	if len(b) == 0 {
		return t, l.failAt(t.place, "expected a number")
	}
	if x, ok := specialNumbers[string(b)]; ok && x.kind == floating && math.IsInf(x.f, 0) {
		if t.num = x; negative {
			t.num.f = -x.f
		}
		return t, nil
	}
	var err error
	if isFloat {
		t.num, err = parseFloat(b)
		if negative {
			t.num.f = -t.num.f
		}
	} else {
		t.num, err = parseInteger(b, hex, negative)
	}
	if err != nil {
		return t, l.failAt(t.place, "%v", err)
	}
	return t, nil
}

// parseFloat parses a number with a point or an exponent. A suffix f makes it a float.
// Numbers that are too large are infinite, as in ncgen.
func parseFloat(b []byte) (constant, error) {
	x := constant{kind: floating, typ: cdf3.Double}
	digits, bits := b, 64
	switch b[len(b)-1] {
	case 'f', 'F':
		x.typ, digits, bits = cdf3.Float, b[:len(b)-1], 32
	case 'd', 'D', 'l', 'L':
		digits = b[:len(b)-1]
	}
	for _, c := range digits {
		// strconv accepts more than ncgen: inf, hexadecimal floats and underscores.
		if !(c >= '0' && c <= '9' || strings.IndexByte(".eE+-", c) >= 0) {
			return x, numberError("malformed number " + quoted(string(b)))
		}
	}
	var err error
	if x.f, err = strconv.ParseFloat(string(digits), bits); err != nil && !math.IsInf(x.f, 0) {
		return x, numberError("malformed number " + quoted(string(b)))
	}
	return x, nil
}

// parseInteger parses the digits and the suffix of an integer. Digits after a leading 0
// are octal.
func parseInteger(b []byte, hex, negative bool) (constant, error) {
	x := constant{kind: integer}
	n := len(b)
	for n > 0 && digit(int(b[n-1])) >= 10 && (!hex || digit(int(b[n-1])) > 16) {
		n--
	}
	tag := strings.ToLower(string(b[n:]))
	if x.tag = tag != ""; x.tag {
		var ok bool
		if x.typ, ok = suffixes[tag]; !ok {
			return x, numberError("malformed number " + quoted(string(b)))
		}
	}
	base := uint64(10)
	switch {
	case hex:
		base = 16
	case b[0] == '0':
		base = 8
	}
	if n == 0 {
		return x, numberError("malformed number " + quoted(string(b)))
	}
	value := uint64(0)
	for _, c := range b[:n] {
		d := uint64(digit(int(c)))
		if d >= base {
			if base == 8 && d < 10 {
				return x, numberError("digit " + string(rune(c)) + " in an octal number, as it begins with 0")
			}
			return x, numberError("malformed number " + quoted(string(b)))
		}
		if value > (math.MaxUint64-d)/base {
			return x, numberError("integer beyond 64 bits")
		}
		value = value*base + d
	}
	if negative {
		if value > 1<<63 {
			return x, numberError("integer beyond 64 bits")
		}
		if x.i = -int64(value); value == 0 {
			x.f = math.Copysign(0, -1)
		}
	} else {
		x.i = int64(value)
	}
	big := !negative && value > math.MaxInt64
	if (tag == "l" || tag == "ul" || tag == "lu") && (big || x.i < math.MinInt32 || x.i > math.MaxUint32) {
		x.typ = map[cdf3.Type]cdf3.Type{cdf3.Int: cdf3.Int64, cdf3.UInt: cdf3.UInt64}[x.typ]
	}
	if x.tag {
		return x.tagged(big)
	}
	switch {
	case big:
		x.typ = cdf3.UInt64
	case x.i >= math.MinInt32 && x.i <= math.MaxInt32:
		x.typ = cdf3.Int
	case x.i > 0 && x.i <= math.MaxUint32:
		x.typ = cdf3.UInt
	default:
		x.typ = cdf3.Int64
	}
	return x, nil
}
