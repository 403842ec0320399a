package cli

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/display"
	"github.com/cdfz-format/cdfz/testdata/seeds"
)

// FuzzSize checks that a parsed number of bytes is not negative and prints as text with
// the same value.
func FuzzSize(f *testing.F) {
	s := seeds.Of(f)
	for name, text := range map[string]string{"plain": "65536", "unit": "64K", "iec": "1GiB", "byte": "5b", "none": "", "unit-alone": "K", "negative": "-1", "sign": "+1",
		"largest": "9223372036854775807", "overflow": "8388608T", "twice": "1KK", "fraction": "1.5M"} {
		s.Add(name, text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		n, err := display.ParseSize(text)
		if err != nil {
			return
		}
		require.GreaterOrEqual(t, n, int64(0))
		again, err := display.ParseSize(display.SizeName(n))
		require.NoError(t, err)
		require.Equal(t, n, again)
		require.NotEmpty(t, display.Size(n))
		var to int64
		set := (&SizeFlag{N: &to, Min: archive.MinBlock, Max: archive.MaxBlock}).Set(text)
		require.Equal(t, n >= archive.MinBlock && n <= archive.MaxBlock, set == nil)
	})
}
