package latin

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestText(t *testing.T) {
	for in, want := range map[string]string{
		"": "", "m²": "m²", "m\xb2 s-1": "m² s-1", "\xe9t\xe9 \x80\x00": "été \u0080\x00", "é\xff": "Ã©ÿ",
	} {
		require.Equal(t, want, Text(in), "%q", in)
	}
	for in, want := range map[string]string{
		"": "", "a": "a", "aé": "aé", "a\xc3": "a", "a\xe2\x82": "a", "a\xf0\x9f\x98": "a", "😀": "😀", "\xc3": "", "a\xb2": "a\xb2",
		"\x82\x82\x82\x82\x82": "\x82\x82\x82\x82\x82", "a\xff": "a\xff",
	} {
		require.Equal(t, want, Whole(in), "%q", in)
	}
}
