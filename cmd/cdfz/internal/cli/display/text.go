// Package display formats numbers, names and tables for people, and JSON for programs. All of it is
// safe for a terminal.
package display

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Printable escapes characters that a terminal may act on: control characters and bytes
// that are not UTF-8. Names of files and variables may contain any bytes.
func Printable(s string) string {
	ok := true
	for _, r := range s {
		if !unicode.IsPrint(r) || r == utf8.RuneError {
			ok = false
			break
		}
	}
	if ok {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		if unicode.IsPrint(r) && (r != utf8.RuneError || n > 1) {
			b.WriteString(s[:n])
		} else {
			q := strconv.QuoteToASCII(s[:n])
			b.WriteString(q[1 : len(q)-1])
		}
		s = s[n:]
	}
	return b.String()
}

// Quoted returns a name for reports, as one word. Plain names are unchanged; others are
// quoted and escaped.
func Quoted(s string) string {
	if s != "" && Printable(s) == s && !strings.ContainsAny(s, " \"\\") {
		return s
	}
	return strconv.Quote(s)
}

// Size formats a number of bytes for users, in powers of 1000.
func Size(n int64) string {
	if n < 1000 {
		return strconv.FormatInt(n, 10) + " B"
	}
	x := float64(n)
	for _, unit := range []string{"kB", "MB", "GB", "TB", "PB"} {
		x /= 1000
		switch {
		case x < 9.995:
			return fmt.Sprintf("%.2f %s", x, unit)
		case x < 99.95:
			return fmt.Sprintf("%.1f %s", x, unit)
		case x < 999.5:
			return fmt.Sprintf("%.0f %s", x, unit)
		}
	}
	return fmt.Sprintf("%.0f EB", x/1000)
}

// Ratio returns the quotient of two sizes, or 0 if stored is 0.
func Ratio(raw, stored int64) float64 {
	if stored <= 0 {
		return 0
	}
	return Round(float64(raw)/float64(stored), 4)
}

// Round rounds to a number of decimals.
func Round(x float64, decimals int) float64 {
	p := math.Pow10(decimals)
	return math.Round(x*p) / p
}

var errSize = errors.New("expected a number of bytes, as in 65536, 64K, 1M")

// ParseSize parses 65536, 64K, 64KiB, 1M, 1MiB or 2G, in powers of 1024.
func ParseSize(s string) (int64, error) {
	digits := strings.TrimRight(s, "KMGTiBkmgtb")
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < 0 {
		return 0, errSize
	}
	unit := strings.ToUpper(s[len(digits):])
	shift := map[string]int{
		"": 0, "B": 0, "K": 10, "KB": 10, "KIB": 10, "M": 20, "MB": 20, "MIB": 20,
		"G": 30, "GB": 30, "GIB": 30, "T": 40, "TB": 40, "TIB": 40,
	}
	by, ok := shift[unit]
	if !ok || n > math.MaxInt64>>by {
		return 0, errSize
	}
	return n << by, nil
}

// Speed formats a rate for users.
func Speed(n int64, seconds float64) string {
	if seconds <= 0 {
		return "0 MB/s"
	}
	mb := float64(n) / 1e6 / seconds
	if mb < 9.95 {
		return fmt.Sprintf("%.1f MB/s", mb)
	}
	return fmt.Sprintf("%.0f MB/s", mb)
}

// Count formats a number of things.
func Count(n int64, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// SizeName formats a number of bytes in the syntax of flags.
func SizeName(n int64) string {
	for i, unit := range []string{"T", "G", "M", "K"} {
		if shift := 10 * (4 - i); n > 0 && n%(1<<shift) == 0 {
			return strconv.FormatInt(n>>shift, 10) + unit
		}
	}
	return strconv.FormatInt(n, 10)
}

// Shape returns a shape as in (365, 3, 181); a scalar's is ().
func Shape(s []int64) string {
	words := make([]string, len(s))
	for i, n := range s {
		words[i] = strconv.FormatInt(n, 10)
	}
	return "(" + strings.Join(words, ",") + ")"
}

// Clock formats a duration as 0:07, 12:34 or 3:45:00.
func Clock(d time.Duration) string {
	s := int64(d.Round(time.Second) / time.Second)
	if s >= 3600 {
		return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
	}
	return fmt.Sprintf("%d:%02d", s/60, s%60)
}
