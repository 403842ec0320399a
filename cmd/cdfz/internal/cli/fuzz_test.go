package cli

import (
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/remote"
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
		n, err := ParseSize(text)
		if err != nil {
			require.ErrorIs(t, err, errSize)
			return
		}
		require.GreaterOrEqual(t, n, int64(0))
		again, err := ParseSize(SizeName(n))
		require.NoError(t, err)
		require.Equal(t, n, again)
		require.NotEmpty(t, Size(n))
		var to int64
		set := (&SizeFlag{N: &to, Min: archive.MinBlock, Max: archive.MaxBlock}).Set(text)
		require.Equal(t, n >= archive.MinBlock && n <= archive.MaxBlock, set == nil)
	})
}

// FuzzShowName checks that any text becomes safe for a terminal, and that URLs lose
// their secrets.
func FuzzShowName(f *testing.F) {
	s := seeds.Of(f)
	for name, text := range map[string]string{
		"plain": "tas", "path": "../a/b", "escape": "\x1b[2J", "not-utf8": "\xff", "separators": "a\u2028b", "stdin": "-",
		"url": "https://me:secret@example.org/a/x.nc.cdfz?key=secret", "url-root": "http://example.org", "url-dots": "http://example.org/..%2f..",
		"malformed": "https://me:secret@exa mple.org:port/x",
	} {
		s.Add(name, text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		require.True(t, utf8.ValidString(Printable(text)))
		require.Equal(t, Printable(text), Printable(Printable(text)))
		if !remote.IsURL(text) {
			return
		}
		shown := ShowName(text)
		require.NotContains(t, shown, "?")
		if u, err := url.Parse(text); err == nil && u.User != nil && u.User.String() != "" {
			require.NotContains(t, shown, u.User.String()+"@")
		} else if err != nil {
			require.False(t, strings.Contains(shown, "@"))
		}
		require.NotContains(t, LocalName(text), "/")
	})
}
