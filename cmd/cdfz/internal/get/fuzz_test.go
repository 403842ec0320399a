package get

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/display"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/formats"
	"github.com/cdfz-format/cdfz/testdata/seeds"
)

// FuzzNames checks that names of any bytes become names of files below a folder and
// text for a terminal, without the secrets of URLs.
func FuzzNames(f *testing.F) {
	s := seeds.Of(f)
	for name, text := range map[string]string{"plain": "tas", "path": "../a/b", "device": "nul", "hidden": ".x", "escape": "\x1b[2J", "not-utf8": "\xff", "separators": "a\u2028b",
		"long": strings.Repeat("ä", 200), "stdin": "-"} {
		s.Add(name, text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		file := fileName(text)
		require.True(t, file != "" && file != "." && file != ".." && len(file) <= 255 && !strings.ContainsAny(file, "/\\\x00"), "%q", file)
		p, err := formats.ParseSelection(strings.ReplaceAll(display.Quoted(text), "[", `\[`))
		if err == nil && !strings.Contains(text, "[") {
			require.Equal(t, text, p.Var)
		}
	})
}
