package get

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/formats"
)

func TestFileName(t *testing.T) {
	for name, want := range map[string]string{
		"tas": "tas", "a.b": "a.b", ".x": "%2Ex", "..": "%2E.", "-v": "%2Dv", "a/b": "a%2Fb", "a b": "a%20b", "": "%", "é": "é",
		"\xff\x00": "%FF%00", "a%20": "a%2520", `a\b:c`: "a%5Cb%3Ac", "nul": "%6Eul", strings.Repeat("x", 300): strings.Repeat("x", 200),
	} {
		require.Equal(t, want, fileName(name))
	}
	var sel []*formats.Selection
	for _, n := range []string{"T", "t", "T", "t-2"} {
		sel = append(sel, &formats.Selection{Var: n})
	}
	require.Equal(t, []string{"T.npy", "t-2.npy", "T-3.npy", "t-2-2.npy"}, targetNames(sel, "npy"))
}
