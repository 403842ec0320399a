package main

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// printable escapes what a terminal should not be given: control characters and
// bytes that are not UTF-8. Names of files and variables may hold any bytes.
func printable(s string) string {
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

// quoted is a name as it stands in reports: as it is if that is plain, else in
// quotes with escapes, so that it is one word and cannot be mistaken.
func quoted(s string) string {
	if s != "" && printable(s) == s && !strings.ContainsAny(s, " \"\\") {
		return s
	}
	return strconv.Quote(s)
}

// size is a number of bytes for people, in powers of 1000.
func size(n int64) string {
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

// ratio is a quotient of sizes, 0 if there is none.
func ratio(raw, stored int64) float64 {
	if stored <= 0 {
		return 0
	}
	return round(float64(raw)/float64(stored), 4)
}

// round keeps that many decimals.
func round(x float64, decimals int) float64 {
	p := math.Pow10(decimals)
	return math.Round(x*p) / p
}

var errSize = errors.New("expected a number of bytes, as in 65536, 64K, 1M")

// parseSize reads 65536, 64K, 64KiB, 1M, 1MiB, 2G: powers of 1024.
func parseSize(s string) (int64, error) {
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

// sizeFlag is a flag that holds a number of bytes.
type sizeFlag struct {
	n        *int64
	min, max int64
	given    string
}

func (f *sizeFlag) String() string { return f.given }
func (f *sizeFlag) Type() string   { return "SIZE" }

func (f *sizeFlag) Set(s string) error {
	n, err := parseSize(s)
	if err != nil {
		return err
	}
	if n < f.min || n > f.max {
		return fmt.Errorf("expected %d to %d bytes", f.min, f.max)
	}
	*f.n, f.given = n, s
	return nil
}

// choiceFlag is a flag that holds one of some words.
type choiceFlag[T ~string] struct {
	v       *T
	choices []T
}

func (f *choiceFlag[T]) String() string { return string(*f.v) }

func (f *choiceFlag[T]) Type() string {
	words := make([]string, len(f.choices))
	for i, c := range f.choices {
		words[i] = string(c)
	}
	return strings.Join(words, "|")
}

func (f *choiceFlag[T]) Set(s string) error {
	for _, c := range f.choices {
		if string(c) == s {
			*f.v = c
			return nil
		}
	}
	return fmt.Errorf("expected %s", strings.ReplaceAll(f.Type(), "|", ", "))
}

// speed is a rate for people.
func speed(n int64, seconds float64) string {
	if seconds <= 0 {
		return "0 MB/s"
	}
	mb := float64(n) / 1e6 / seconds
	if mb < 9.95 {
		return fmt.Sprintf("%.1f MB/s", mb)
	}
	return fmt.Sprintf("%.0f MB/s", mb)
}

// count is a number of things.
func count(n int64, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
