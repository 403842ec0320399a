package spec

import (
	"errors"
	"math"
	"strconv"
	"strings"
)

// Compat mode parses constants as netcdf-c 4.9.0 does (ncaux_h5filterspec_parse in
// libdispatch/daux.c, with the sscanf of glibc). The last two characters determine the
// type, and the longest numeric prefix the value.

// scanConst parses one constant without leading blanks. at is its offset in the text.
func scanConst(s string, at int) ([]uint32, error) {
	bad := func() error { return errorAt(ErrSpec, at, "constant %q: expected a number with a type tag", s) }
	if s == "" {
		return nil, bad()
	}
	typ, unsigned := scanType(s)
	switch typ {
	case 'b', 's', 'i':
		var v uint32
		if s[0] == '-' {
			n, ok := scanInt64(s)
			if !ok {
				return nil, bad()
			}
			v = uint32(n)
		} else {
			n, ok := scanUint32(s)
			if !ok {
				return nil, bad()
			}
			v = n
		}
		switch typ {
		case 'b':
			v &= 0xff
		case 's':
			v &= 0xffff
		}
		return []uint32{v}, nil
	case 'l':
		if unsigned {
			v, ok := scanUint64(s)
			if !ok {
				return nil, bad()
			}
			return words64(v), nil
		}
		v, ok := scanInt64(s)
		if !ok {
			return nil, bad()
		}
		return words64(uint64(v)), nil
	case 'f', 'd':
		v, ok := scanFloat(s)
		if !ok {
			return nil, bad()
		}
		if typ == 'f' {
			return float32Words(v), nil
		}
		return words64(float64Bits(v)), nil
	}
	return nil, bad()
}

// scanType is gettype of daux.c, for the last one or two characters.
func scanType(s string) (typ byte, unsigned bool) {
	last := s[len(s)-1]
	if len(s) <= 2 {
		unsigned = last|0x20 == 'u'
	} else {
		unsigned = s[len(s)-2]|0x20 == 'u'
	}
	switch last {
	case 'f', 'F', '.':
		return 'f', unsigned
	case 'd', 'D', 'b', 'B', 's', 'S', 'l', 'L':
		return last | 0x20, unsigned
	case 'u', 'U', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		return 'i', unsigned
	}
	return 0, unsigned
}

// scanDigits parses the beginning of sscanf's integer conversions: white space, sign,
// digits. The magnitude saturates.
func scanDigits(s string) (neg bool, v uint64, over, ok bool) {
	s = strings.TrimLeft(s, " \t\n\v\f\r")
	if s != "" && (s[0] == '+' || s[0] == '-') {
		neg = s[0] == '-'
		s = s[1:]
	}
	n := len(s) - len(strings.TrimLeft(s, "0123456789"))
	v, err := strconv.ParseUint(s[:n], 10, 64)
	return neg, v, errors.Is(err, strconv.ErrRange), n > 0
}

// scanUint32 is "%u": strtoul to 64 bits, then the low 32.
func scanUint32(s string) (uint32, bool) {
	v, ok := scanUint64(s)
	return uint32(v), ok
}

// scanUint64 is "%llu".
func scanUint64(s string) (uint64, bool) {
	neg, v, over, ok := scanDigits(s)
	if neg && !over {
		v = -v
	}
	return v, ok
}

// scanInt64 is "%lld", clamped to int64.
func scanInt64(s string) (int64, bool) {
	neg, v, _, ok := scanDigits(s)
	switch {
	case neg && v > 1<<63:
		return math.MinInt64, ok
	case neg:
		return int64(-v), ok
	case v > math.MaxInt64:
		return math.MaxInt64, ok
	}
	return int64(v), ok
}

// scanFloat is "%lf": it parses the longest numeric prefix.
func scanFloat(s string) (float64, bool) {
	s = strings.ToLower(strings.TrimLeft(s, " \t\n\v\f\r"))
	sign := 1.0
	if s != "" && (s[0] == '+' || s[0] == '-') {
		if s[0] == '-' {
			sign = -1
		}
		s = s[1:]
	}
	switch {
	case strings.HasPrefix(s, "infi") && !strings.HasPrefix(s, "infinity"):
		return 0, false // glibc does not backtrack
	case strings.HasPrefix(s, "inf"):
		return math.Inf(int(sign)), true
	case strings.HasPrefix(s, "nan"):
		return math.Copysign(math.NaN(), sign), true
	}
	digits, expMark, prefix, exp := "0123456789", byte('e'), "", ""
	if strings.HasPrefix(s, "0x") {
		digits, expMark, prefix, exp = "0123456789abcdef", 'p', "0x", "p0"
		s = s[2:]
	}
	span := func(s string) int { return len(s) - len(strings.TrimLeft(s, digits)) }
	n := span(s)
	seen := n
	if n < len(s) && s[n] == '.' {
		m := span(s[n+1:])
		seen += m
		n += 1 + m
	}
	if seen == 0 {
		// strtod reads "0x." as 0, and sscanf refuses a bare "0x".
		return 0 * sign, prefix != "" && n > 0
	}
	num := s[:n]
	if n < len(s) && s[n] == expMark {
		at := n + 1
		if at < len(s) && (s[at] == '+' || s[at] == '-') {
			at++
		}
		if e := len(s[at:]) - len(strings.TrimLeft(s[at:], "0123456789")); e > 0 {
			exp = s[n : at+e]
		}
	}
	f, err := strconv.ParseFloat(prefix+num+exp, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0, false
	}
	return sign * f, true
}
