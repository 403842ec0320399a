package cdl

import (
	"bytes"
	"math"
	"strconv"
)

// Default numbers of significant digits.
const (
	floatDigits  = 7
	doubleDigits = 15
)

func digits(n, otherwise int) int {
	if n != 0 {
		return n
	}
	return otherwise
}

// exactInt is a number of digits up to which all integers are exact in a float64.
const exactInt = 15

var pow10 = [exactInt + 1]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15}

// appendFloat32 appends a finite number like C's %.*g, without the letter of the type.
func appendFloat32(dst []byte, x float32, digits int) []byte {
	if dst, ok := appendWhole(dst, float64(x), digits); ok {
		return dst
	}
	// Up to 9 digits, strconv is faster with floats and prints the same number.
	if digits <= 9 {
		return strconv.AppendFloat(dst, float64(x), 'g', digits, 32)
	}
	return strconv.AppendFloat(dst, float64(x), 'g', digits, 64)
}

// appendFloat64 is appendFloat32 for doubles.
func appendFloat64(dst []byte, x float64, digits int) []byte {
	if dst, ok := appendWhole(dst, x, digits); ok {
		return dst
	}
	return strconv.AppendFloat(dst, x, 'g', digits, 64)
}

// appendWhole appends integers that have at most the given number of digits. They are
// common in real data.
func appendWhole(dst []byte, x float64, digits int) ([]byte, bool) {
	if limit := pow10[min(digits, exactInt)]; !(x > -limit && x < limit) {
		return dst, false
	}
	n := int64(x)
	if float64(n) != x || n == 0 && math.Signbit(x) {
		return dst, false
	}
	return strconv.AppendInt(dst, n, 10), true
}

// appendSpecial appends NaN or an infinity.
func appendSpecial(dst []byte, x float64) []byte {
	switch {
	case math.IsNaN(x):
		return append(dst, "NaN"...)
	case x < 0:
		return append(dst, "-Infinity"...)
	}
	return append(dst, "Infinity"...)
}

// finite32 and finite64 test the exponent.
func finite32(bits uint32) bool { return bits&0x7f800000 != 0x7f800000 }
func finite64(bits uint64) bool { return bits&0x7ff0000000000000 != 0x7ff0000000000000 }

// appendAttrFloat appends a number with a decimal point and without trailing zeros,
// such as 1., 1.5 or 1.e+20.
func appendAttrFloat(dst []byte, x float64, digits int) []byte {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return appendSpecial(dst, x)
	}
	start := len(dst)
	dst = appendFloat64(dst, x, digits)
	s := dst[start:]
	if bytes.IndexByte(s, '.') >= 0 {
		return dst
	}
	e := bytes.IndexByte(s, 'e')
	if e < 0 {
		return append(dst, '.')
	}
	dst = append(dst, 0)
	s = dst[start:]
	copy(s[e+1:], s[e:])
	s[e] = '.'
	return dst
}
