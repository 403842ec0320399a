package archive

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/testdata/seeds"
)

// sameAsJSON says whether canon reads b as T, and requires that encoding/json then
// reads the same.
func sameAsJSON[T any](t testing.TB, b string, read func(*canon) T) bool {
	c := &canon{s: b}
	got := read(c)
	if !c.done() {
		return false
	}
	var want T
	require.NoError(t, json.Unmarshal([]byte(b), &want), "%s", b)
	require.Equal(t, want, got, "%s", b)
	return true
}

// canonSeeds are plans and manifests of archives, and ones with all members.
func canonSeeds(t testing.TB) (plans, manifests []string) {
	for name, image := range classicFiles(t) {
		for _, zarr := range []ZarrMode{ZarrAlways, ZarrNever} {
			r := open(t, pack(t, image, &Options{Name: name, Zarr: zarr, Block: MinBlock}))
			plans = append(plans, string(r.l.encode()))
			manifests = append(manifests, string(encodeJSON(r.man)))
		}
	}
	slices.Sort(plans)
	slices.Sort(manifests)
	full := Plan{Features: []string{"", "ä"}, Chains: [][]PlanFilter{{}, {
		{ID: 1<<32 - 1, Params: []uint32{0, 1<<32 - 1}, Optional: true, Name: "x", Codec: json.RawMessage(`{"id":"a","b":{"c":[{}]}}`)},
		{Codec: json.RawMessage(`{}`)},
	}}, Vars: []PlanVar{{View: "why", Shape: []int64{}, Block: []int64{1e17}}}, Groups: [][]int{{}, {1, 2}}}
	plans = append(plans, string(full.encode()))
	return plans, append(manifests, string(encodeJSON(Manifest{Name: "ü"})), string(encodeJSON(Manifest{NameHex: "ff"})))
}

// TestCanon: canon reads all that is written but escapes; what else it reads, encoding/json
// reads in the same way.
func TestCanon(t *testing.T) {
	plans, manifests := canonSeeds(t)
	for _, b := range plans {
		require.Equal(t, !strings.Contains(b, `\`), sameAsJSON(t, b, (*canon).plan), "%s", b)
	}
	for _, b := range manifests {
		require.Equal(t, !strings.Contains(b, `\`), sameAsJSON(t, b, (*canon).manifest), "%s", b)
	}
	read := 0
	for _, b := range mutants(plans[len(plans)-1]) {
		if sameAsJSON(t, b, (*canon).plan) {
			read++
		}
	}
	for _, b := range mutants(manifests[len(manifests)-1]) {
		if sameAsJSON(t, b, (*canon).manifest) {
			read++
		}
	}
	require.Greater(t, read, 1000)
}

// mutants are texts that differ from s in one place.
func mutants(s string) []string {
	var out []string
	for i := range len(s) + 1 {
		for _, in := range []string{"", " ", `"`, `\`, `\"`, `\u0041`, ",", ":", "{", "}", "[", "]", "{}", "[]", "0", "1", "-1", ".5", "e3", "null", "true",
			"\x00", "\x1f", "\x7f", "\xff", "ä", "\u2028", "123456789012345678", "9223372036854775807", "9223372036854775808", "x", "X"} {
			out = append(out, s[:i]+in+s[i:])
			if i < len(s) {
				out = append(out, s[:i]+in+s[i+1:])
			}
		}
		out = append(out, s[:i])
	}
	// Members twice, in another order, unknown, or with other values.
	for _, m := range regexp.MustCompile(`,?"[a-z0-9_]+":([0-9]+|"[^"]*"|\[[^\[\]{}]*\]|true|\{[^{}]*\})`).FindAllStringIndex(s, -1) {
		member := s[m[0]:m[1]]
		name := member[:strings.Index(member, ":")+1]
		for _, in := range []string{"", member + member, `,"new":0` + member, member + `,"new":{}`, strings.ToUpper(member)} {
			out = append(out, s[:m[0]]+in+s[m[1]:])
		}
		for _, value := range []string{"null", "0", "-0", "00", "1.0", "1e0", "true", "false", `""`, "[]", "[null]", "{}", `[""]`, "[[]]"} {
			out = append(out, fmt.Sprint(s[:m[0]], name, value, s[m[1]:]))
		}
	}
	return out
}

// FuzzCanon: wherever canon reads a text, encoding/json reads the same.
func FuzzCanon(f *testing.F) {
	plans, manifests := canonSeeds(f)
	for _, b := range slices.Concat(plans, manifests) {
		if len(b) < 2000 {
			f.Add(b)
		}
	}
	s := seeds.Of(f)
	s.Add("plan", plans[0])
	s.Add("plan-full", plans[len(plans)-1])
	s.Add("manifest", manifests[0])
	s.Add("manifest-hex", manifests[len(manifests)-1])
	s.Add("escapes", `{"format":1,"features":["\u0041"]}`)
	s.Add("cut", plans[0][:len(plans[0])/2])
	f.Fuzz(func(t *testing.T, b string) {
		sameAsJSON(t, b, (*canon).plan)
		sameAsJSON(t, b, (*canon).manifest)
	})
}
