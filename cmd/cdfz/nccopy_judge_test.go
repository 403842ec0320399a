//go:build judge

package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const nccopyCDL = `netcdf a {
dimensions: x = 8 ; y = 6 ;
variables:
  int v(x, y) ; short u(x) ; float w(x, y) ; double s ; float p\&q(y) ;
data:
  v = 1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32,33,34,35,36,37,38,39,40,41,42,43,44,45,46,47,48 ;
  u = 1,2,3,4,5,6,7,8 ; s = 5 ; p\&q = 1,2,3,4,5,6 ;
  w = 1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32,33,34,35,36,37,38,39,40,41,42,43,44,45,46,47,48 ;
}
`

// specialLine matches the special attributes about filters.
var specialLine = regexp.MustCompile(`(?m)^\t\t(\S+):(_Shuffle|_DeflateLevel|_Fletcher32|_Filter) = (.*) ;$`)

// specials returns what is printed about the filters of each variable.
func specials(header []byte) map[string]string {
	m := map[string]string{}
	for _, l := range specialLine.FindAllSubmatch(header, -1) {
		m[string(l[1])] += fmt.Sprintf("%s %s\n", l[2], l[3])
	}
	return m
}

// nccopyBug returns the known bug of nccopy 4.9.0 that explains its result for a variable,
// or "". before is the result without -F.
func nccopyBug(opts []string, before, theirs, ours string) string {
	none := slices.ContainsFunc(opts, func(o string) bool { return strings.EqualFold(strings.TrimPrefix(o, "*,"), "none") })
	switch {
	case none && theirs == "":
		return "F3: -F none suppresses the filters of named variables as well"
	case strings.Contains(before, "_DeflateLevel") && theirs == before:
		return "F8b: deflate of the input prevails over -F"
	case strings.Contains(before, "_Fletcher32") && theirs == "_Fletcher32 \"true\"\n"+ours:
		return "F8b: fletcher32 of the input is added to -F"
	}
	return ""
}

// TestJudgeNccopy compares cdfz copy -F with nccopy -F on generated command lines, 40 or,
// with CDFZ_SOAK=1, 500: what ncdump and cdfz dump print about the filters of each
// variable. It must be the same but for the three known bugs of nccopy.
func TestJudgeNccopy(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("a.cdl", []byte(nccopyCDL), 0o644))
	tool := func(args ...string) ([]byte, error) { return exec.Command(args[0], args[1:]...).CombinedOutput() }
	must := func(args ...string) []byte {
		out, err := tool(args...)
		require.NoError(t, err, "%v: %s", args, out)
		return out
	}
	cdfz := func(args ...string) (string, int) {
		var out, msg bytes.Buffer
		code := run(t.Context(), args, nil, &out, &msg)
		return out.String() + msg.String(), code
	}
	must("ncgen", "-3", "-o", "a.nc", "a.cdl")
	inputs := []string{"none", "*,1,5", "*,2|1,6", "*,307,9", "v,307,3", "w,3"}
	var before []map[string]string
	for i, f := range inputs {
		must("nccopy", "-4", "-F", f, "a.nc", fmt.Sprintf("in%d.nc4", i))
		before = append(before, specials(must("ncdump", "-hs", fmt.Sprintf("in%d.nc4", i))))
		out, code := cdfz("archive", "-q", "--zarr", "always", "--no-default", "-F", f, "-o", fmt.Sprintf("in%d.cdfz", i), "a.nc")
		require.Zero(t, code, out)
	}
	n := 40
	if os.Getenv("CDFZ_SOAK") != "" {
		n = 500
	}
	r := rand.New(rand.NewPCG(7, 8))
	same, bugs := 0, map[string]int{}
	for range n {
		in := r.IntN(len(inputs))
		var opts, flags []string
		for range 1 + r.IntN(2) {
			opts = append(opts, randomOption(r))
			flags = append(flags, "-F", opts[len(opts)-1])
		}
		out, err := tool(append(append([]string{"nccopy", "-4"}, flags...), fmt.Sprintf("in%d.nc4", in), "out.nc4")...)
		msg, code := cdfz(append(append([]string{"copy", "-q", "-f", "--compat"}, flags...), fmt.Sprintf("in%d.cdfz", in), "out.cdfz")...)
		line := fmt.Sprintf("input %s, %q", inputs[in], opts)
		if (err == nil) != (code == 0) {
			t.Errorf("%s: nccopy %v: %s, cdfz %d: %s", line, err, out, code, msg)
			continue
		}
		if err != nil {
			continue
		}
		dumped, code := cdfz("dump", "-hs", "out.cdfz")
		require.Zero(t, code, dumped)
		theirs, ours := specials(must("ncdump", "-hs", "out.nc4")), specials([]byte(dumped))
		for _, v := range []string{"v", "u", "w", "s", `p\&q`} {
			ours[v] = unordered(ours[v])
			if theirs[v] == ours[v] {
				same++
			} else if bug := nccopyBug(opts, before[in][v], theirs[v], ours[v]); bug != "" {
				bugs[bug]++
			} else {
				t.Errorf("%s, %s:\nnccopy\n%s\ncdfz\n%s", line, v, theirs[v], ours[v])
			}
		}
	}
	t.Logf("%d variables the same; %v", same, bugs)
	require.Len(t, bugs, 3, "each of the known bugs shows")
}

// unordered writes the attributes of a chain as ncdump does, which leaves out the order: where it is
// not that of netCDF-4, ours have all of the chain in _Filter.
func unordered(attrs string) string {
	chain, ok := strings.CutPrefix(attrs, `_Filter "`)
	chain, last := strings.CutSuffix(chain, "\"\n")
	if !ok || !last || strings.Contains(chain, "\n") {
		return attrs
	}
	var lines [4]string
	var rest []string
	for f := range strings.SplitSeq(chain, "|") {
		switch id, params, _ := strings.Cut(f, ","); id {
		case "3":
			lines[0] = "_Fletcher32 \"true\"\n"
		case "2":
			lines[1] = "_Shuffle \"true\"\n"
		case "1":
			lines[2] = "_DeflateLevel " + params + "\n"
		default:
			rest = append(rest, f)
		}
	}
	if len(rest) > 0 {
		lines[3] = fmt.Sprintf("_Filter %q\n", strings.Join(rest, "|"))
	}
	return strings.Join(lines[:], "")
}

func randomOption(r *rand.Rand) string {
	pick := func(words ...string) string { return words[r.IntN(len(words))] }
	if r.IntN(8) == 0 {
		return "none"
	}
	names := pick("*", "v", "v", "u", "w", "s", "v&u", "u&w&s", "/v", `p\&q`, "nosuch", "v|u")
	if r.IntN(6) == 0 {
		return names + "," + pick("none", "NONE", "None")
	}
	var chain []string
	for range 1 + r.IntN(3) {
		chain = append(chain, pick("1,6", "1,9b", "2", "3", "307,9", "307,+5u", "307,3S", "32004,0", "1,x", "307,"))
	}
	return names + "," + strings.Join(chain, "|")
}

// h5Filters matches the filters that h5dump -p prints.
var h5Filters = regexp.MustCompile(`(?m)^ +(CHECKSUM FLETCHER32|PREPROCESSING SHUFFLE|COMPRESSION DEFLATE)(?: \{ LEVEL (\d+) \})?$|^ +(?:FILTER_ID (\d+)|PARAMS \{ ([\d ]+) \})$`)

// TestJudgeOrder compares the whole chain, its order included, of chains that netCDF-4 sorts or has a filter of twice:
// ncdump prints neither.
func TestJudgeOrder(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("a.cdl", []byte(nccopyCDL), 0o644))
	tool := func(args ...string) string {
		out, err := exec.Command(args[0], args[1:]...).CombinedOutput()
		require.NoError(t, err, "%v: %s", args, out)
		return string(out)
	}
	tool("ncgen", "-3", "-o", "a.nc", "a.cdl")
	ids := map[string]string{"CHECKSUM FLETCHER32": "3", "PREPROCESSING SHUFFLE": "2", "COMPRESSION DEFLATE": "1"}
	for _, chain := range []string{
		"307,9|307,5", "1,5|2", "2|1,5", "1,5|2|1,7", "1,5|307,9|2|3", "307,9|3", "307,9|1,5|307,3", "1,5|2|", "2|2", "307,9|", "3|307,1|3|2|1,1|1,2|2",
	} {
		tool("nccopy", "-4", "-F", "v,"+chain, "a.nc", "out.nc4")
		var theirs []string
		for _, m := range h5Filters.FindAllStringSubmatch(tool("h5dump", "-p", "-H", "-d", "v", "out.nc4"), -1) {
			switch {
			case m[4] != "": // of the filter before it
				theirs[len(theirs)-1] += "," + strings.ReplaceAll(m[4], " ", ",")
			case m[2] != "":
				theirs = append(theirs, ids[m[1]]+","+m[2])
			default:
				theirs = append(theirs, ids[m[1]]+m[3])
			}
		}
		require.NotEmpty(t, theirs, chain)
		for _, c := range []struct{ option, want string }{{"--compat", strings.Join(theirs, "|")}, {"", strings.TrimSuffix(chain, "|")}} {
			args := strings.Fields("archive -q -f " + c.option)
			var out, msg bytes.Buffer
			require.Zero(t, run(t.Context(), append(args, "-F", "v,"+chain, "-o", "out.cdfz", "a.nc"), nil, &out, &msg), msg.String())
			require.Zero(t, run(t.Context(), []string{"info", "--json", "out.cdfz"}, nil, &out, &msg), msg.String())
			ours := strings.ReplaceAll(regexp.MustCompile(`"name":"v".*?"chain":"([^"]*)"`).FindStringSubmatch(out.String())[1], "2,4", "2")
			require.Equal(t, c.want, ours, "%s %s", chain, c.option)
		}
	}
}
