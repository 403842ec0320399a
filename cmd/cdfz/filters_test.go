package main

import (
	"bytes"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cdf3"
)

// optionsFile writes a classic file with the variables v(x), s and "a,b&c"(x).
func optionsFile(t *testing.T, name string) {
	t.Helper()
	h := &cdf3.Header{Version: cdf3.Classic, Dims: []cdf3.Dim{{Name: "x", Len: 2000}}, Vars: []cdf3.Var{
		{Name: "v", Type: cdf3.Int, DimIDs: []int{0}}, {Name: "s", Type: cdf3.Double}, {Name: "a,b&c", Type: cdf3.Int, DimIDs: []int{0}},
	}}
	require.NoError(t, h.Layout())
	image, err := h.Append(nil)
	require.NoError(t, err)
	for i := range 2 * 2001 {
		image = append(image, 0, 0, byte(i>>8), byte(i))
	}
	require.NoError(t, os.WriteFile(name, image, 0o644))
}

// TestFilterOptions has the rows F1 to F19 of CONTRIBUTING.md. Each case is run as cdfz
// archive, if the input has no filters, and as cdfz copy.
func TestFilterOptions(t *testing.T) {
	t.Chdir(t.TempDir())
	optionsFile(t, "a.nc")
	const other = "a,b&c"
	cdfz := func(args ...string) (string, int) {
		var out, msg bytes.Buffer
		code := run(t.Context(), args, nil, &out, &msg)
		return out.String() + msg.String(), code
	}
	chains := func(t *testing.T, name string) map[string]string {
		f, err := archive.Open(t.Context(), name, nil)
		require.NoError(t, err)
		defer f.Close()
		m := map[string]string{}
		for _, v := range f.Vars() {
			m[v.Name()] = v.Info().Chain.Given().String()
		}
		var image bytes.Buffer
		require.NoError(t, f.Image().Copy(t.Context(), &image, nil))
		return m
	}
	defaults := "52723"
	type vars = map[string]string
	for _, c := range []struct {
		row   string
		input string // -F of the input; "" for the defaults of --preset portable
		args  []string
		want  vars   // chains by variable; nil for an error
		text  string // of the message
	}{
		{"F1", "*,1,6", []string{"-F", "none"}, vars{"v": "", other: ""}, ""},
		{"F2", "*,1,6", []string{"-F", "none", "-F", "v,none"}, vars{"v": "", other: ""}, ""},
		{"F3", "*,1,6", []string{"-F", "none", "-F", "v,307,5"}, vars{"v": "307,5", other: ""}, ""},
		{"F4", "v,1,6", nil, vars{"v": "1,6", other: ""}, ""},
		{"F5", "*,1,6", []string{"-F", "v,none"}, vars{"v": "", other: "1,6"}, ""},
		{"F6", "none", []string{"-F", "v,307,5"}, vars{"v": "307,5", other: ""}, ""},
		{"F7", "none", nil, vars{"v": "", other: ""}, ""},
		{"F7", "", nil, vars{"v": defaults, other: defaults}, ""},
		{"F7", "", []string{"--no-default"}, vars{"v": "", other: ""}, ""},
		{"F8", "*,307,9", []string{"-F", "v,1,7"}, vars{"v": "1,7", other: "307,9"}, ""},
		{"F8b", "*,2|1,6", []string{"-F", "v,307,5"}, vars{"v": "307,5", other: "2,4|1,6"}, ""},
		{"F8b", "*,2|1,6", []string{"-F", "v,1,7"}, vars{"v": "1,7", other: "2,4|1,6"}, ""},
		{"F9", "*,1,6", []string{"-F", "*,none"}, vars{"v": "", other: ""}, ""},
		{"F10", "none", []string{"-F", "*,307,9"}, vars{"v": "307,9", "s": "", other: "307,9"}, "1 scalar variable cannot have filters: stored unchanged"},
		{"F10", "none", []string{"-F", "s,307,9"}, nil, "variable s, which is a scalar"},
		{"F10", "none", []string{"--compat", "-F", "s,307,9"}, vars{"s": ""}, ""},
		{"F11", "none", []string{"-F", `v&a\,b\&c,307,9`}, vars{"v": "307,9", other: "307,9"}, ""},
		{"F11", "none", []string{"-F", `v|s,307,9`}, nil, `variable v|s, which the file does not have`},
		{"F12", "none", []string{"-F", `/a\,b\&c,3`}, vars{"v": "", other: "3"}, ""},
		{"F12", "none", []string{"-F", `grp/v,3`}, nil, "variable grp/v"},
		{"F13", "none", []string{"-F", "v,1,6", "-F", "v,307,9"}, nil, "a second option for variable v"},
		{"F13", "none", []string{"--compat", "-F", "v,1,6", "-F", "v,307,9", "-F", "v,1,3"}, vars{"v": "1,3|307,9"}, ""},
		{"F14", "none", []string{"-F", "v,none", "-F", "v,307,9"}, nil, "contradicts an earlier option for variable v"},
		{"F14", "*,1,6", []string{"--compat", "-F", "v,307,9", "-F", "v,none"}, vars{"v": "", other: "1,6"}, ""},
		{"F14", "*,1,6", []string{"--compat", "-F", "v,none", "-F", "v,307,9"}, vars{"v": "", other: "1,6"}, ""},
		{"F15", "none", []string{"-F", "nosuch,307,9"}, nil, "variable nosuch, which the file does not have"},
		{"F15", "none", []string{"--ignore-missing", "-F", "nosuch,307,9"}, vars{"v": ""}, ""},
		{"F16", "none", []string{"-F", "v,400"}, nil, "-F v,400: unknown filter 400"},
		{"F17", "*,1,6", []string{"-F", "v,NoNe"}, vars{"v": "", other: "1,6"}, ""},
		{"F17", "*,1,6", []string{"-F", "NONE"}, vars{"v": "", other: ""}, ""},
		{"F18", "*,2|1,6", []string{"-d", "0"}, vars{"v": "", other: ""}, ""},
		{"F18", "none", []string{"-d", "0", "-F", "v,307,1"}, vars{"v": "307,1", other: ""}, ""},
		{"F18", "none", []string{"-d", "0", "-F", "none"}, nil, "-d 0: contradicts"},
		{"F19", "none", []string{"-F", "v,307,2|3|2"}, vars{"v": "307,2|3|2,4"}, ""},
		{"F19", "none", []string{"--compat", "-F", "v,2|307,9|3"}, vars{"v": "3|2,4|307,9"}, ""},
		{"optional", "none", []string{"-F", "v,2|1,6?"}, vars{"v": "2,4|1,6?"}, ""},
	} {
		t.Run(c.row, func(t *testing.T) {
			check := func(args ...string) {
				t.Helper()
				os.Remove("out.cdfz")
				msg, code := cdfz(args...)
				require.Contains(t, msg, c.text)
				if c.want == nil {
					require.NotZero(t, code)
					require.NoFileExists(t, "out.cdfz")
					return
				}
				require.Zero(t, code, msg)
				got := chains(t, "out.cdfz")
				for v, want := range c.want {
					require.Equal(t, want, got[v], "%v: variable %s", args, v)
				}
			}
			args := append([]string{"-q", "--zarr", "always"}, c.args...)
			in := c.input
			switch in {
			case "":
				check(append(append([]string{"archive", "-o", "out.cdfz"}, args...), "a.nc")...)
				check(append(append([]string{"copy"}, args...), "a.nc", "out.cdfz")...)
				return
			case "none":
				check(append(append([]string{"archive", "--no-default", "-o", "out.cdfz"}, args...), "a.nc")...)
			}
			os.Remove("in.cdfz")
			msg, code := cdfz("archive", "-q", "--zarr", "always", "--no-default", "-F", in, "-o", "in.cdfz", "a.nc")
			require.Zero(t, code, msg)
			check(append(append([]string{"copy"}, args...), "in.cdfz", "out.cdfz")...)
		})
	}
}
