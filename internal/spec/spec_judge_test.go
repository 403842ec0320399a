//go:build judge

package spec

import (
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cdfz-format/cdfz/filters"
)

// TestJudgeSpec compares both modes with libnetcdf on all constants of the tables and on
// generated specifications: 100,000, or a million with CDFZ_SOAK=1. Compat mode must
// agree with libnetcdf, errors included. Strict mode must accept nothing that libnetcdf
// refuses or understands differently, apart from the mark "?".
func TestJudgeSpec(t *testing.T) {
	l := startNetCDF(t)
	accepted, strict := 0, 0
	check := func(text string) {
		if undefined(text) {
			return
		}
		want, ok := l.chain(text)
		got, err := ParseChain(text, &Options{Compat: true})
		if (err == nil) != ok || ok && !same(got, want) {
			t.Errorf("%q: libnetcdf %v %v, found %v, %v", text, ok, want, got, err)
		}
		if ok {
			accepted++
		}
		if !strings.Contains(text, "|") { // the entry for one filter
			f, one := l.filter(text)
			if got, err := ParseChain(text, &Options{Compat: true}); text != "" && (one != (err == nil) || one && !same(got, filters.Chain{f})) {
				t.Errorf("%q: libnetcdf %v %v, found %v, %v", text, one, f, got, err)
			}
		}
		text = strings.ReplaceAll(text, "?", "")
		if got, err = ParseChain(text, nil); err == nil {
			strict++
			if want, ok = l.chain(text); !ok || !same(got, want) {
				t.Errorf("%q: strict mode accepts %v, libnetcdf %v %v", text, got, ok, want)
			}
		}
	}
	for _, c := range constCases {
		check("307," + c.text)
		check("307," + c.text + ",5")
		check("307," + c.text + "|" + c.text)
	}
	for _, text := range []string{"307", "307,9", " 307,9", "307x,9", "-1,5", "abc,9", "+1,2", "65536", "4294967296", "", "|", "307,9|", "307,9||", "|307"} {
		check(text)
	}
	n := 100_000
	if os.Getenv("CDFZ_SOAK") != "" {
		n = 1_000_000
	}
	r := rand.New(rand.NewPCG(5, 6))
	for range n {
		check(randomSpec(r))
	}
	if min(accepted, strict) < n/20 {
		t.Errorf("of %d specifications libnetcdf accepts %d and strict mode %d: the generator is too wild", n, accepted, strict)
	}
}

func same(a, b filters.Chain) bool {
	return slices.EqualFunc(a, b, func(f, g filters.Filter) bool { return f.ID == g.ID && slices.Equal(f.Params, g.Params) })
}

var (
	wildParts = []string{"0", "1", "9", "255", "32768", "4294967295", "9223372036854775808", "18446744073709551616", "-", "+", ".", "e", "e5", "x", "0x", "u", "U",
		"b", "S", "l", "L", "f", "F", "d", "D", "nan", "inf", "inity", "p3", " ", "\t", "ull", "1e39", "1e400", "1e-320", "a", "\n", "?", "|", ","}
	tags = []string{"", "", "u", "b", "B", "ub", "s", "US", "l", "ul", "ll", "ull", "f", "d", "D"}
)

// randomSpec returns a specification of likely words and, sometimes, of wild ones. None
// begins with a format number, which makes libnetcdf 4.9.0 abort.
func randomSpec(r *rand.Rand) string {
	var filters []string
	for range 1 + r.IntN(3) {
		words := []string{wildWord(r, "307")}
		for range r.IntN(4) {
			v := r.Uint64() >> r.IntN(64)
			digits := strconv.FormatUint(v, 10)
			words = append(words, wildWord(r, []string{"", "", "-", "+", " "}[r.IntN(5)]+digits+tags[r.IntN(len(tags))]))
		}
		filters = append(filters, strings.Join(words, ","))
	}
	return strings.Join(filters, "|")
}

func wildWord(r *rand.Rand, likely string) string {
	if r.IntN(5) > 0 {
		return likely
	}
	var b strings.Builder
	for range 1 + r.IntN(5) {
		b.WriteString(wildParts[r.IntN(len(wildParts))])
	}
	return b.String()
}

// undefined reports whether libnetcdf's answer depends on the memory before a word: it
// looks for the tag before the end of a word that is empty or blank.
func undefined(text string) bool {
	for f := range strings.SplitSeq(text, "|") {
		_, params, some := strings.Cut(f, ",")
		if some && slices.ContainsFunc(strings.Split(params, ","), func(w string) bool { return strings.Trim(w, " \t") == "" }) {
			return true
		}
	}
	return false
}
