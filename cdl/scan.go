package cdl

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// These functions parse text as C's sscanf does.

const spaces = " \t\n\v\f\r"

func skipSpace(s string) string { return strings.TrimLeft(s, spaces) }

// token splits off the text up to the next white space (%s).
func token(s string) (word, rest string) {
	s = skipSpace(s)
	if end := strings.IndexAny(s, spaces); end >= 0 {
		return s[:end], s[end:]
	}
	return s, ""
}

// scanInt parses a decimal integer (%d), clamped to int64.
func scanInt(s string) (n int64, rest string, ok bool) {
	s = skipSpace(s)
	end := 0
	if end < len(s) && (s[end] == '-' || s[end] == '+') {
		end++
	}
	first := end
	for end < len(s) && s[end] >= '0' && s[end] <= '9' {
		end++
	}
	if end == first {
		return 0, s, false
	}
	// The only possible error is out of range, and then n is the nearest value.
	n, _ = strconv.ParseInt(s[:end], 10, 64)
	return n, s[end:], true
}

var floatPattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?`)
})

// scanFloat parses a decimal number (%lf).
func scanFloat(s string) (float64, bool) {
	text := floatPattern().FindString(skipSpace(s))
	x, err := strconv.ParseFloat(text, 64)
	return x, text != "" && (err == nil || math.IsInf(x, 0))
}

// appendPadded appends a number with leading zeros.
func appendPadded(dst []byte, n int64, width int) []byte {
	s := strconv.FormatInt(n, 10)
	dst = appendRepeat(dst, '0', width-len(s))
	return append(dst, s...)
}

// appendFixed appends a number with six decimals (%f).
func appendFixed(dst []byte, x float64) []byte { return strconv.AppendFloat(dst, x, 'f', 6, 64) }
