package plan

import (
	"bytes"
	"context"
	"encoding/json"
	"iter"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive/internal/archivetest"
	"github.com/cdfz-format/cdfz/archive/internal/fault"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/filters"
	"github.com/cdfz-format/cdfz/testdata/seeds"
	"github.com/cdfz-format/cdfz/unlimited"
)

// sameAsJSON reports whether read accepts b. If so, it requires that encoding/json
// reads the same.
func sameAsJSON[T any](t testing.TB, b string, read func([]byte) (*T, error)) bool {
	got, err := read([]byte(b))
	if err != nil {
		require.True(t, archivetest.Ours(err), "%v", err)
		return false
	}
	var want T
	require.NoError(t, json.Unmarshal([]byte(b), &want), "%s", b)
	if otherCase.MatchString(b) {
		return true // a name that encoding/json matches with a different one
	}
	require.Equal(t, want, *got, "%s", b)
	return true
}

// otherCase matches names of members with upper-case letters or escapes.
var otherCase = regexp.MustCompile(`"[^"]*([A-Z]|[^\x00-\x7f]|\\u)[^"]*" *:`)

// jsonSeeds are plans and manifests of several images, and ones with all members.
func jsonSeeds(t testing.TB) (plans, manifests []string) {
	for name, l := range testPlans(t, archivetest.Some(t)) {
		plans = append(plans, encoded(t, l.Plan))
		m := fullManifest()
		m.SetName(name)
		m.Size, m.Blocks = l.Image.Size, l.Blocks
		manifests = append(manifests, string(EncodeJSON(m)))
	}
	slices.Sort(plans)
	slices.Sort(manifests)
	return append(plans, fullPlan(t)), append(manifests, string(EncodeJSON(fullManifest())))
}

// testPlans makes plans of images, with and without a view, by the name of the image and the
// layout.
func testPlans(t testing.TB, files map[string][]byte) map[string]*Resolved {
	t.Helper()
	plans := map[string]*Resolved{}
	for name, image := range files {
		h, err := cdf3.Read(bytes.NewReader(image), int64(len(image)))
		require.NoError(t, err)
		for _, lay := range []Layout{Viewed, Pooled} {
			l, err := NewPlan(t.Context(), h, int64(len(image)), testSpec(t, h, int64(len(image)), lay), lay)
			require.NoError(t, err)
			plans[name+"/"+string(lay)] = l
		}
	}
	return plans
}

// testSpec returns a spec with small blocks of two filters, and pools in the layout Pooled.
func testSpec(t testing.TB, h *cdf3.Header, size int64, lay Layout) *Spec {
	chain := filters.Chain{{ID: filters.Shuffle, Params: []uint32{4}}, {ID: filters.Deflate, Params: []uint32{6}}}
	s := &Spec{Block: 1 << 10, Memory: 8 << 10, Headers: 1 << 20, Vars: make([]VarSpec, len(h.Vars))}
	for i := range s.Vars {
		s.Vars[i].Chain = chain
	}
	if lay == Pooled {
		_, blocked := unlimited.Plan(h, size)
		s.Pools = Pools(t.Context(), h, blocked, s, 0)
		for _, p := range s.Pools {
			p.Chain = chain[1:]
		}
	}
	return s
}

// encoded returns the JSON of a plan.
func encoded(t testing.TB, p *Plan) string {
	b, err := p.Encode(t.Context())
	require.NoError(t, err)
	return string(b)
}

// fullPlan has all members.
func fullPlan(t testing.TB) string {
	p := Plan{Format: 1, Features: []string{}, Writer: "ü", Zarr: Viewed, Chains: [][]PlanFilter{{}, {
		{ID: 1<<32 - 1, Params: []uint32{0, 1<<32 - 1}, Optional: true, Name: "x", Codec: json.RawMessage(`{"id":"a","b":{"c":[{}]}}`)},
		{Codec: json.RawMessage(`{}`)},
	}}, Vars: []PlanVar{{Path: "v", View: ViewNoCodec, PlanArray: &PlanArray{Type: "int", Shape: []int64{}, Block: []int64{1e17}}}}, Groups: [][]int{{0}}}
	return encoded(t, &p)
}

func fullManifest() *Manifest {
	return &Manifest{
		Name: `ü"\`, SHA256: strings.Repeat("0", 64), Tree: strings.Repeat("0", 32), Front: Front{CRC32: "00000000"},
		Plan: Place{CRC32: "00000000"}, Header: Place{Mask: 1, CRC32: "89abcdef"},
	}
}

// TestReadJSON checks that written JSON can be read, and that encoding/json agrees on
// everything that is accepted.
func TestReadJSON(t *testing.T) {
	plans, manifests := jsonSeeds(t)
	for _, b := range plans {
		require.True(t, sameAsJSON(t, b, readPlan), "%s", b)
	}
	for _, b := range manifests {
		require.True(t, sameAsJSON(t, b, ReadManifest), "%s", b)
	}
	read, step := 0, 1
	if testing.Short() {
		step = 997
	}
	for b := range mutants(plans[len(plans)-1], step) {
		if sameAsJSON(t, b, readPlan) {
			read++
		}
	}
	for b := range mutants(manifests[len(manifests)-1], step) {
		if sameAsJSON(t, b, ReadManifest) {
			read++
		}
	}
	require.Greater(t, read, 1000/step)
}

// mutants yields texts that differ from s in one place, one of every step.
func mutants(s string, step int) iter.Seq[string] {
	return func(yield func(string) bool) {
		n := 0
		add := func(i, j int, in string) bool { // replaces s[i:j]
			n++
			return n%step != 0 || yield(s[:i]+in+s[j:])
		}
		for i := range len(s) + 1 {
			for _, in := range []string{"", " ", `"`, `\`, `\"`, `\u0041`, ",", ":", "{", "}", "[", "]", "{}", "[]", "0", "1", "-1", ".5", "e3", "null", "true",
				"\x00", "\x1f", "\x7f", "\xff", "ä", "\u2028", "123456789012345678", "9223372036854775807", "9223372036854775808", "x", "X"} {
				if !add(i, i, in) || i < len(s) && !add(i, i+1, in) {
					return
				}
			}
			if !add(i, len(s), "") {
				return
			}
		}
		// Members that are repeated, reordered, unknown, or have other values.
		for _, m := range regexp.MustCompile(`,?"[a-z0-9_]+":([0-9]+|"[^"]*"|\[[^\[\]{}]*\]|true|\{[^{}]*\})`).FindAllStringIndex(s, -1) {
			member := s[m[0]:m[1]]
			name := member[:strings.Index(member, ":")+1]
			for _, in := range []string{"", member + member, `,"new":0` + member, member + `,"new":{}`, strings.ToUpper(member)} {
				if !add(m[0], m[1], in) {
					return
				}
			}
			for _, value := range []string{"null", "0", "-0", "00", "1.0", "1e0", "true", "false", `""`, "[]", "[null]", "{}", `[""]`, "[[]]"} {
				if !add(m[0], m[1], name+value) {
					return
				}
			}
		}
	}
}

// TestPlanWritten reads variables in the form in which writers write them and, with a space in
// each, in another. Both have the same result: at the limits of what is read directly, and where
// a variable resembles one before.
func TestPlanWritten(t *testing.T) {
	numbers := func(n int) string { return strings.TrimSuffix(strings.Repeat("1,", n), ",") }
	variable := func(n, path, typ, shape, block, chain, segment, view string) string {
		return `{"var":` + n + `,"path":"` + path + `","type":"` + typ + `","shape":[` + shape + `],"block":[` + block + `],"chain":` + chain +
			`,"segment":{"off":` + segment + `,"len":2,"stride":3,"count":4}` + view + `}`
	}
	plain := variable("0", "v", "int", "32", "32", "1", "7", "")
	for _, c := range []struct {
		vars []string
		ok   bool
	}{
		{[]string{plain}, true},
		{[]string{plain, plain, plain}, true},
		{[]string{plain, variable("1", "w", "int", "32,1", "32", "1", "7", ""), variable("2", "x", "int", "32", "32,1", "1", "7", "")}, true},
		{[]string{plain, variable("1", "w", "int", "3", "32", "12", "7", ""), variable("2", "x", "uint", "32", "32", "1", "7", "")}, true},
		{[]string{plain, variable("1", "w", "int", "32", "32", "01", "7", "")}, false},
		{[]string{plain, strings.Replace(plain, `],"chain"`, `]"chain"`, 1)}, false},
		{[]string{plain, strings.Replace(plain, `"chain":1`, `"chain":1 `, 1)}, true},
		{[]string{variable("0", "v", "int", "", "", "1", "7", "")}, true},
		{[]string{variable("0", "v", "int", numbers(16), numbers(16), "1", "7", "")}, true},
		{[]string{variable("0", "v", "int", numbers(17), numbers(16), "1", "7", "")}, true},
		{[]string{variable("0", "v", "int", numbers(16), numbers(17), "1", "7", "")}, true},
		{[]string{variable("0", "v", "int", numbers(MaxRank), "1", "1", "7", "")}, true},
		{[]string{variable("0", "v", "int", numbers(MaxRank+1), "1", "1", "7", "")}, false},
		{[]string{variable("0", "v", "int", "1,", "1", "1", "7", "")}, false},
		{[]string{variable("0", "v", "int", ",1", "1", "1", "7", "")}, false},
		{[]string{variable("0", "v", "int", "999999999999999999", "1", "1", "7", "")}, true}, // 18 digits
		{[]string{variable("0", "v", "int", "1", "1", "1", "999999999999999999", "")}, true},
		{[]string{variable("0", "v", "int", "1000000000000000000", "1", "1", "7", "")}, true}, // 19
		{[]string{variable("0", "v", "int", "1", "1", "1", "1000000000000000000", "")}, true},
		{[]string{variable("0", "v", "int", "1", "1", "1", "9223372036854775807", "")}, true},
		{[]string{variable("0", "v", "int", "1", "1", "1", "9223372036854775808", "")}, false},
		{[]string{variable("0", "v", "int", "1", "1", "1", "00", "")}, false},
		{[]string{variable("0", "v", "int", "1", "1", "1", "", "")}, false},
		{[]string{variable("0", "v", "int", "1", "1", "1", "-1", "")}, false},
		{[]string{variable("0", "v", "int", "1", "1", "1", "1e3", "")}, false},
		{[]string{variable("2147483647", "v", "int", "1", "1", "1", "7", "")}, true},
		{[]string{variable("2147483648", "v", "int", "1", "1", "1", "7", "")}, false},
		{[]string{variable("0", "v", "int", "1", "1", "2147483647", "7", "")}, true},
		{[]string{variable("0", "v", "int", "1", "1", "2147483648", "7", "")}, false},
		{[]string{variable("0", "", "int", "1", "1", "1", "7", "")}, true},
		{[]string{variable("0", "ä", "int", "1", "1", "1", "7", "")}, true},
		{[]string{variable("0", "v\x7f", "int", "1", "1", "1", "7", "")}, true},
		{[]string{variable("0", "v\x1f", "int", "1", "1", "1", "7", "")}, false},
		{[]string{variable("0", "\xff", "int", "1", "1", "1", "7", "")}, false},
		{[]string{variable("0", `\u0041`, "int", "1", "1", "1", "7", ""), plain}, true},
		{[]string{variable("0", `\"`, "int", "1", "1", "1", "7", ""), plain}, true},
		{[]string{variable("0", strings.Repeat("x", 255), "int", "1", "1", "1", "7", "")}, true},
		{[]string{variable("0", strings.Repeat("x", 256), "int", "1", "1", "1", "7", "")}, false},
		{[]string{variable("0", "v", "string", "1", "1", "1", "7", "")}, false},
		{[]string{variable("0", "v", "int", "1", "1", "1", "7", `,"view":"no-codec"`), plain}, true},
		{[]string{variable("0", "v", "int", "1", "1", "1", "7", `,"view":""`)}, false},
		{[]string{variable("0", "v", "int", "1", "1", "1", "7", `,"view":"because"`)}, false},
		{[]string{variable("0", "v", "int", "1", "1", "1", "7", `,"more":1`)}, true},
	} {
		text := func(space string) []byte {
			vars := strings.ReplaceAll(strings.Join(c.vars, ","), `{"var"`, "{"+space+`"var"`)
			return []byte(`{"format":1,"features":[],"writer":"x","zarr":"viewed","image":{"size":9,"header":8},"block":7,"chains":[],` +
				`"rest":{"len":1,"first":1,"block":1,"chain":0},"vars":[` + vars + `],"groups":[]}`)
		}
		want, wantErr := readPlan(text(" "))
		b := text("")
		got, err := readPlan(b)
		clear(b) // the plan has its own memory
		require.Equal(t, c.ok, err == nil, "%.300s: %v", c.vars, err)
		require.Equal(t, want, got, "%.300s", c.vars)
		if wantErr != nil {
			require.ErrorIs(t, err, fault.ErrCorrupt)
			require.Equal(t, atByte.ReplaceAllString(wantErr.Error(), ""), atByte.ReplaceAllString(err.Error(), ""), "%.300s", c.vars)
		}
	}
}

var atByte = regexp.MustCompile(`at byte \d+: `)

// TestPlanRefused has one fault in each
func TestPlanRefused(t *testing.T) {
	good := fullPlan(t)
	many := func(n int, s string) string { return strings.TrimSuffix(strings.Repeat(s+",", n), ",") }
	for _, c := range []struct{ old, new, want string }{
		{`"format"`, `"Format"`, `expected member "format" first`},
		{`"writer"`, `"WRITER"`, `member "writer" is missing`},
		{`"shape":[],`, ``, `member "shape" is missing`},
		{`"off":0,`, ``, `member "off" is missing`},
		{`"off":0,`, `"off":0,"off":0,`, `member "off" occurs twice`},
		{`"off":0,`, `"off":0,"\u006fff":0,`, `member "off" occurs twice`},
		{`"off":0,`, `"x":0,"x":1,"off":0,`, `member "x" occurs twice`},
		{`"off":0,`, `"off":null,`, `expected an integer from 0`},
		{`"off":0,`, `"off":-1,`, `expected an integer from 0`},
		{`"off":0,`, `"off":1.0,`, `expected an integer from 0`},
		{`"off":0,`, `"off":1e3,`, `expected an integer from 0`},
		{`"off":0,`, `"off":9223372036854775808,`, `expected an integer from 0`},
		{`"features":[]`, `"features":null`, `expected '['`},
		{`"zarr":"viewed"`, `"zarr":"Viewed"`, `unknown Zarr view "Viewed"`},
		{`"view":"no-codec"`, `"view":"because"`, `unknown reason "because"`},
		{`"type":"int"`, `"type":"string"`, `unknown type "string"`},
		{`"optional":true`, `"optional":1`, `expected true or false`},
		{`"name":"x"`, `"name":"` + strings.Repeat("x", 256) + `"`, `expected at most 255 bytes of text, found 256`},
		{`"name":"x"`, `"name":"` + "\xff" + `"`, `invalid UTF-8`},
		{`"name":"x"`, `"name":"\ud800"`, `invalid surrogate pair`},
		{`"codec":{}`, `"codec":[]`, `expected an object`},
		{`"codec":{}`, `"codec":{"a":` + strings.Repeat("[", 40) + strings.Repeat("]", 40) + `}`, `more than 32 levels`},
		{`"codec":{}`, `"codec":{"a":"` + strings.Repeat("x", 4096) + `"}`, `expected a codec of at most 4096 bytes, found 4104`},
		{`"params":[0,4294967295]`, `"params":[` + many(MaxParams+1, "0") + `]`, `more than 65536 parameters`},
		{`"chains":[[]`, `"chains":[` + many(MaxChains, "[]"), `more than 4096 chains`},
		{`"chains":[[]`, `"chains":[[` + many(MaxFilters+1, `{"id":1}`) + `]`, `more than 4096 filters`},
		{`"shape":[]`, `"shape":[` + many(MaxRank+1, "1") + `]`, `more than 1024 dimensions`},
		{`"groups":[[0]]`, `"groups":[[0],[]]`, `more than 1 groups`},
		{`"groups":[[0]]`, `"groups":[[]]`, `empty group`},
		{`"groups":[[0]]`, `"groups":[[0,0]]`, `more than 1 variables in groups`},
		{`"groups":[[0]]`, `"groups":[[0]],` + many(MaxUnknown+1, `"x":1`), `occurs twice`},
	} {
		require.Contains(t, good, c.old)
		_, err := readPlan([]byte(strings.Replace(good, c.old, c.new, 1)))
		require.ErrorIs(t, err, fault.ErrCorrupt, "%.200s", c.new)
		require.ErrorContains(t, err, c.want, "%.200s", c.new)
	}
	for _, s := range []string{`{"format":2}`, `{"format":2,"format":null}`, `{"format":1,"features":["x"]}`} {
		_, err := readPlan([]byte(s))
		require.ErrorIs(t, err, fault.ErrVersion, s)
	}
}

// FuzzReadJSON checks that encoding/json agrees with every accepted plan or manifest.
func FuzzReadJSON(f *testing.F) {
	plans, manifests := jsonSeeds(f)
	for _, b := range slices.Concat(plans, manifests) {
		if len(b) < 2000 {
			f.Add(b)
		}
	}
	s := seeds.Of(f)
	s.Add("plan", plans[0])
	s.Add("plan-full", plans[len(plans)-1])
	s.Add("manifest", manifests[0])
	s.Add("manifest-full", manifests[len(manifests)-1])
	s.Add("escapes", `{"format":1,"features":["\u0041"]}`)
	s.Add("cut", plans[0][:len(plans[0])/2])
	f.Fuzz(func(t *testing.T, b string) {
		sameAsJSON(t, b, readPlan)
		sameAsJSON(t, b, ReadManifest)
	})
}

func readPlan(b []byte) (*Plan, error) { return ReadPlan(context.Background(), b) }
