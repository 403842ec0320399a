package spec

import (
	"errors"
	"math"
	"strconv"
	"strings"
)

// Constants of a filter specification. The type tags are those of netcdf-c
// (libdispatch/daux.c): b, s, l for 8, 16 and 64 bits, u before them or alone
// for unsigned, f and d for floating point, none for 32 bits. Negative numbers
// of 8 and 16 bits become parameters with zeros above, as netcdf-c makes them.

// parseConst is the strict parser: the whole text is one constant whose value fits
// the type, either signed or unsigned. 255 and -1 are both bytes, 300 is not. at is the
// offset of the constant in the text.
func parseConst(s string, at int) ([]uint32, error) {
	bad := func() error {
		return errorAt(ErrSpec, at, "constant %q: expected a number with an optional type tag", s)
	}
	if s == "" {
		return nil, bad()
	}
	switch s[len(s)-1] | 0x20 {
	case 'f':
		f, ok := parseFloat(s[:len(s)-1])
		if !ok {
			return nil, bad()
		}
		return float32Words(f), nil
	case 'd':
		f, ok := parseFloat(s[:len(s)-1])
		if !ok {
			return nil, bad()
		}
		return words64(float64Bits(f)), nil
	}

	digits := strings.TrimLeft(s, "+-")
	neg := strings.HasPrefix(s, "-")
	if len(s)-len(digits) > 1 {
		return nil, bad()
	}
	tag := strings.TrimLeft(digits, "0123456789")
	digits = digits[:len(digits)-len(tag)]
	bits := 32
	tag = strings.ToLower(tag)
	switch tag {
	case "", "u":
	case "b", "ub":
		bits = 8
	case "s", "us":
		bits = 16
	case "l", "ul", "ll", "ull":
		bits = 64
	default:
		return nil, bad()
	}
	v, err := strconv.ParseUint(digits, 10, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return nil, bad()
	}
	limit := uint64(math.MaxUint64) >> (64 - bits)
	// netcdf-c reads all 64-bit tags except "ul" as signed and clamps to the largest
	// value. Constants that it would change are refused.
	if neg {
		limit = 1 << (bits - 1)
	} else if bits == 64 && tag != "ul" {
		limit = math.MaxInt64
	}
	if err != nil || v > limit {
		return nil, errorAt(ErrConstRange, at, "constant %q: expected at most %d bits", s, bits)
	}
	if neg {
		v = -v & (math.MaxUint64 >> (64 - bits))
	}
	if bits == 64 {
		return words64(v), nil
	}
	return []uint32{uint32(v)}, nil
}

// parseFloat parses a decimal number, "inf", "infinity" or "nan", with an optional
// sign. A number that is too large is infinite, as in C.
func parseFloat(s string) (float64, bool) {
	if strings.ContainsAny(s, "_xX") {
		return 0, false
	}
	body := strings.TrimLeft(s, "+-")
	if len(s)-len(body) > 1 {
		return 0, false
	}
	f, err := strconv.ParseFloat(body, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0, false
	}
	if strings.HasPrefix(s, "-") {
		f = math.Copysign(f, -1)
	}
	return f, true
}

// float32Words converts a double as C's (float) does. NaN has the bits of C's NaN.
func float32Words(f float64) []uint32 {
	b := math.Float32bits(float32(f))
	if math.IsNaN(f) {
		b = 0x7fc00000 | uint32(math.Float64bits(f)>>63)<<31
	}
	return []uint32{b}
}

func float64Bits(f float64) uint64 {
	if math.IsNaN(f) {
		return 0x7ff8000000000000 | math.Float64bits(f)&(1<<63)
	}
	return math.Float64bits(f)
}

// words64 splits 64 bits into two parameters, low word first.
func words64(v uint64) []uint32 { return []uint32{uint32(v), uint32(v >> 32)} }
