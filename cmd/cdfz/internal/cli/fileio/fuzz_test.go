package fileio

import (
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/display"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
	"github.com/cdfz-format/cdfz/internal/s3"
	"github.com/cdfz-format/cdfz/remote"
	"github.com/cdfz-format/cdfz/testdata/seeds"
)

// FuzzShowName checks that any text becomes safe for a terminal, and that URLs lose
// their secrets.
func FuzzShowName(f *testing.F) {
	s := seeds.Of(f)
	for name, text := range map[string]string{
		"plain": "tas", "path": "../a/b", "escape": "\x1b[2J", "not-utf8": "\xff", "separators": "a\u2028b", "stdin": "-",
		"url": "https://me:secret@example.org/a/x.nc.cdfz?key=secret", "url-root": "http://example.org", "url-dots": "http://example.org/..%2f..",
		"object": "s3://bucket/a b?c#d%2F@e", "no-bucket": "s3://", "no-host": "http:///",
		"malformed": "https://me:secret@exa mple.org:port/x",
	} {
		s.Add(name, text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		require.True(t, utf8.ValidString(display.Printable(text)))
		require.Equal(t, display.Printable(text), display.Printable(display.Printable(text)))
		if !remote.IsURL(text) {
			return
		}
		require.NotContains(t, LocalName(text), "/")
		shown := terminal.ShowName(text)
		if s3.IsURL(text) && shown == text { // the URL of an object: its key may have any text
			bucket, _, _ := strings.Cut(text[len("s3://"):], "/")
			require.NotContains(t, bucket, "@")
			return
		}
		require.NotContains(t, shown, "?")
		if u, err := url.Parse(text); err == nil && u.User != nil && u.User.String() != "" {
			require.NotContains(t, shown, u.User.String()+"@")
		} else if err != nil {
			require.False(t, strings.Contains(shown, "@"))
		}
	})
}
