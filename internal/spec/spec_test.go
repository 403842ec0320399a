package spec

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/cdfz-format/cdfz/filters"
	_ "github.com/cdfz-format/cdfz/filters/all"
	"github.com/cdfz-format/cdfz/testdata/seeds"
)

// constCase is a parameter as text. strict and compat are its values in the two modes,
// or nil for an error. strictErr is the kind of error.
type constCase struct {
	text           string
	strict, compat []uint32
	strictErr      error
}

func u(v ...uint32) []uint32 { return v }

// both makes a constant with the same meaning in both modes.
func both(text string, v ...uint32) constCase { return constCase{text, v, v, nil} }

var constCases = []constCase{
	// 8 bits, zeros above
	both("-17b", 239), both("23ub", 23), both("5UB", 5), both("-128b", 128), both("255b", 255), both("-1ub", 255),
	// 16 bits
	both("-25S", 65511), both("27US", 27), both("5uS", 5), both("-32768s", 32768), both("65535us", 65535),
	// 32 bits
	both("-77", 4294967219), both("77", 77), both("+5", 5), both("077", 77), both("0", 0), both("4294967295", 4294967295),
	both("-2147483648", 2147483648), both("93U", 93), both("-1U", 4294967295), both(" \t7", 7),
	// floating point
	both("789f", 0x44454000), both("nanf", 0x7fc00000), both("inff", 0x7f800000), both("-inff", 0xff800000),
	both("-0f", 0x80000000), both("1e39f", 0x7f800000), both("1.5F", 0x3fc00000), both("5.f", 0x40a00000),
	both("12345678.12345678d", 3287505826, 1097305129), both("-1D", 0, 0xbff00000), both("infd", 0, 0x7ff00000),
	both("1e-320d", 2024, 0), both("nand", 0, 0x7ff80000), both("1e400d", 0, 0x7ff00000),
	// 64 bits, low word first
	both("-9223372036854775807L", 1, 2147483648), both("18446744073709551615UL", 4294967295, 4294967295),
	both("5LL", 5, 0), both("5ULL", 5, 0), both("-1ul", 4294967295, 4294967295), both("4294967296l", 0, 1),
	// too large: C wraps around or clamps
	{"300b", nil, u(44), ErrConstRange}, {"70000s", nil, u(4464), ErrConstRange}, {"-129b", nil, u(127), ErrConstRange},
	{"4294967296", nil, u(0), ErrConstRange}, {"99999999999", nil, u(1215752191), ErrConstRange},
	{"-2147483649", nil, u(2147483647), ErrConstRange}, {"256ub", nil, u(0), ErrConstRange},
	{"9223372036854775808L", nil, u(4294967295, 2147483647), ErrConstRange},
	{"18446744073709551615ULL", nil, u(4294967295, 2147483647), ErrConstRange},
	{"18446744073709551616UL", nil, u(4294967295, 4294967295), ErrConstRange},
	{"99999999999999999999999", nil, u(4294967295), ErrConstRange},
	{"-99999999999999999999999", nil, u(0), ErrConstRange},
	// other text, as parsed by sscanf
	{"1.5", nil, u(1), ErrSpec}, {"1e3", nil, u(1), ErrSpec}, {"5.", nil, u(0x40a00000), ErrSpec},
	{"0x1f", nil, u(0x41f80000), ErrSpec}, {"0x10", nil, u(0), ErrSpec}, {"5bu", nil, u(5), ErrSpec}, {"5 b", nil, u(5), ErrSpec},
	{"inf", nil, u(0x7f800000), ErrSpec}, {"infxd", nil, u(0, 0x7ff00000), ErrSpec}, {"1e+f", nil, u(0x3f800000), ErrSpec},
	{"nan(12)f", nil, u(0x7fc00000), ErrSpec}, {"0x1p4f", nil, u(0x41800000), ErrSpec}, {"2bL", nil, u(2, 0), ErrSpec},
	{"infinif", nil, nil, ErrSpec}, {"nan", nil, nil, ErrSpec},
	{"7x7", nil, u(7), ErrSpec}, {"1_0f", nil, u(0x3f800000), ErrSpec},
	// errors in both
	{"", nil, nil, ErrSpec}, {"b", nil, nil, ErrSpec}, {"u", nil, nil, ErrSpec}, {"f", nil, nil, ErrSpec}, {"-", nil, nil, ErrSpec},
	{"9 ", nil, nil, ErrSpec}, {"xyz", nil, nil, ErrSpec}, {"--5", nil, nil, ErrSpec}, {"+-5", nil, nil, ErrSpec}, {"ul", nil, nil, ErrSpec},
	{"5q", nil, nil, ErrSpec}, {"--5f", nil, nil, ErrSpec}, {"d", nil, nil, ErrSpec}, {".f", nil, nil, ErrSpec},
}

func TestConstants(t *testing.T) {
	for _, c := range constCases {
		for _, mode := range []struct {
			opts *Options
			want []uint32
		}{{nil, c.strict}, {&Options{Compat: true}, c.compat}} {
			got, err := ParseChain("307,"+c.text, mode.opts)
			switch {
			case mode.want == nil && err == nil:
				t.Errorf("%q, %+v: an error, found %v", c.text, mode.opts, got)
			case mode.want == nil && mode.opts == nil && !errors.Is(err, c.strictErr):
				t.Errorf("%q: %v, found %v", c.text, c.strictErr, err)
			case mode.want == nil && !errors.Is(err, ErrSpec) && !errors.Is(err, ErrConstRange):
				t.Errorf("%q: %v", c.text, err)
			case mode.want != nil && err != nil:
				t.Errorf("%q, %+v: %v", c.text, mode.opts, err)
			case mode.want != nil && !slices.Equal(got[0].Params, mode.want):
				t.Errorf("%q, %+v: %v, found %v", c.text, mode.opts, mode.want, got[0].Params)
			}
		}
	}
}

func TestParseChain(t *testing.T) {
	compat := &Options{Compat: true}
	for _, c := range []struct {
		text string
		opts *Options
		want string // as printed; empty is an error
		err  error
	}{
		{"307", nil, "307", nil},
		{"307,9", nil, "307,9", nil},
		{" 307,9", nil, "307,9", nil},
		{"307,9|4,32,32", nil, "307,9|4,32,32", nil},
		{"[1]2,4|32015,-5", nil, "2,4|32015,4294967291", nil}, {"[1]3", compat, "3", nil},
		{"[1x]3", nil, "", ErrSpec}, {"[ -1x]3", compat, "3", nil}, {"[x]3", compat, "", ErrSpec},
		{"1,6?", nil, "1,6?", nil}, {"2,4?|3?|307,9", nil, "2,4?|3?|307,9", nil}, {"3?", compat, "3", nil}, {"1,6?", compat, "", ErrSpec},
		{"1,6??", nil, "", ErrSpec}, {"1?,6", nil, "", ErrSpec}, {"?", nil, "", ErrSpec}, {"1,?", nil, "", ErrSpec},
		{"307,-17b,23ub,-25S", nil, "307,239,23,65511", nil},
		{"65535", nil, "65535", nil},
		{"0,1", nil, "0,1", nil},
		{"[1", nil, "", ErrSpec}, {"[1", compat, "", ErrSpec},
		{"", nil, "", ErrSpec}, {"|", compat, "", ErrSpec},
		{"[1]", nil, "", ErrSpec},
		{"307,", nil, "", ErrSpec}, {"307,", compat, "", ErrSpec},
		{"abc,9", nil, "", ErrSpec}, {"abc,9", compat, "", ErrSpec},
		{"307x,9", nil, "", ErrSpec}, {"307x,9", compat, "307,9", nil},
		{"-1,5", nil, "", ErrSpec}, {"-1,5", compat, "4294967295,5", nil},
		{"+1,5", nil, "", ErrSpec}, {"+1,5", compat, "1,5", nil},
		{"65536", nil, "", filters.ErrFilterID}, {"65536", compat, "65536", nil},
		{"307,9|", nil, "307,9", nil}, {"307,9|", compat, "307,9", nil}, {"|", nil, "", ErrSpec},
		{"bzip2,9|Shuffle?|fpzip", nil, "307,9|2?|258", nil}, {"bzip2,9", compat, "", ErrSpec}, {"zstd", nil, "32015", nil}, {"HDF5 zstd", nil, "", ErrSpec},
		{"|307,9", nil, "", ErrSpec}, {"307,9||3", nil, "", ErrSpec}, {"307,9||3", compat, "", ErrSpec},
		{strings.Repeat("3|", 31) + "3", nil, strings.Repeat("3|", 31) + "3", nil},
		{strings.Repeat("3|", 32) + "3", nil, "", ErrSpec},
	} {
		got, err := ParseChain(c.text, c.opts)
		if c.want == "" {
			if !errors.Is(err, c.err) {
				t.Errorf("%q, %+v: %v, found %v, %v", c.text, c.opts, c.err, got, err)
			}
			continue
		}
		if err != nil || got.String() != c.want {
			t.Errorf("%q, %+v: %s, found %s, %v", c.text, c.opts, c.want, got, err)
		}
	}
}

// TestColumns checks the place that an error reports.
func TestColumns(t *testing.T) {
	for text, col := range map[string]int{
		"": 1, "x": 1, "307,": 5, "307,9||": 7, "307,9|x": 7, "307,9,300b|3": 7, "307, 9x": 6, "1|2|99999": 5, "[x]1": 2, "[1]": 4, "307,9,,3": 7,
		strings.Repeat("3|", 33): 65,
	} {
		_, err := ParseChain(text, nil)
		var e *Error
		if !errors.As(err, &e) || e.Col != col {
			t.Errorf("%q: expected column %d, found %v", text, col, err)
		}
	}
	for text, col := range map[string]int{"": 1, "v": 2, "v,": 3, "a&,3": 3, "a&*,3": 3, `a\,b,3,x`: 8, "v,3|x": 5, `v\`: 3, "v,[1]3,x": 8} {
		_, err := ParseVars(text, nil)
		var e *Error
		if !errors.As(err, &e) || e.Col != col {
			t.Errorf("%q: expected column %d, found %v", text, col, err)
		}
	}
}

func TestParseVars(t *testing.T) {
	for _, c := range []struct {
		text  string
		want  Vars
		chain string
	}{
		{"v,307,9", Vars{Names: []string{"v"}}, "307,9"},
		{"v1&v2,307,9|4,32,32", Vars{Names: []string{"v1", "v2"}}, "307,9|4,32,32"},
		{"/v,3", Vars{Names: []string{"v"}}, "3"},
		{"grp/v,3", Vars{Names: []string{"grp/v"}}, "3"},
		{`a\,b&c\&d\\,3`, Vars{Names: []string{"a,b", `c&d\`}}, "3"},
		{"a|b,3", Vars{Names: []string{"a|b"}}, "3"},
		{"*,3", Vars{All: true}, "3"},
		{`\*,3`, Vars{Names: []string{"*"}}, "3"},
		{"a*,3", Vars{Names: []string{"a*"}}, "3"},
		{"*a,3", Vars{Names: []string{"*a"}}, "3"},
		{"none", Vars{All: true, None: true}, ""},
		{"NONE", Vars{All: true, None: true}, ""},
		{"*,none", Vars{All: true, None: true}, ""},
		{"v,None", Vars{Names: []string{"v"}, None: true}, ""},
		{"none,3", Vars{Names: []string{"none"}}, "3"},
		{" v ,3", Vars{Names: []string{" v "}}, "3"},
	} {
		got, err := ParseVars(c.text, nil)
		if err != nil {
			t.Errorf("%q: %v", c.text, err)
			continue
		}
		if s := got.Chain.String(); s != c.chain {
			t.Errorf("%q: chain %q, found %q", c.text, c.chain, s)
		}
		got.Chain = nil
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%q: %+v, found %+v", c.text, c.want, got)
		}
	}
	for _, text := range []string{"", "v", ",3", "v,", "v&,3", "&v,3", "/,3", `v\`, "*&v,3", "v&*,3", "v,none,3", "v,none|3", "307"} {
		if got, err := ParseVars(text, nil); !errors.Is(err, ErrSpec) {
			t.Errorf("%q: %v, found %+v, %v", text, ErrSpec, got, err)
		}
	}
	if _, err := ParseVars("v,3,300b", nil); !errors.Is(err, ErrConstRange) {
		t.Errorf("constant too large: %v", err)
	}
}

func TestParseNames(t *testing.T) {
	for text, want := range map[string][]string{"v": {"v"}, "v&/w": {"v", "w"}, `a\,b&\*`: {"a,b", "*"}} {
		if got, err := ParseNames(text); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: expected %q, found %q, %v", text, want, got, err)
		}
	}
	for text, col := range map[string]int{"": 1, "*": 1, "v,w": 2, "v,": 2, "v&w,x&y": 4, "v&": 3, "*,v": 2} {
		_, err := ParseNames(text)
		var e *Error
		if !errors.As(err, &e) || e.Col != col {
			t.Errorf("%q: expected column %d, found %v", text, col, err)
		}
	}
}

func FuzzParseChain(f *testing.F) {
	s := seeds.Of(f)
	for name, text := range map[string]string{"params": "307,9|4,32,32", "hdf5-tag": "[1]2,4", "optional": "2,4?|1,6?", "types": "1,-17b,0x1f,1e39f|", "names": `v\,w&*,none`} {
		s.Add(name, text)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, o := range []*Options{nil, {Compat: true}} {
			c, err := ParseChain(s, o)
			if err != nil {
				continue
			}
			// Parsed text must print as something with the same meaning.
			if c == nil {
				continue // compat mode, no filters
			}
			again, err := ParseChain(c.String(), o)
			if err != nil || again.String() != c.String() {
				t.Errorf("%q, %+v: %s, then %s, %v", s, o, c, again, err)
			}
			ParseVars(s, o)
		}
	})
}
