package urls

import (
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestBelow checks the URLs of files with any names: keys of objects have no escapes, paths of web servers do.
func TestBelow(t *testing.T) {
	for _, c := range []struct{ folder, rel, want string }{
		{"a/100%", "../b", "a/b"},
		{"", "x", "x"},
		{"s3://b", "x", "s3://b/x"},
		{"s3://b/p/", "a%2F?#b\n", "s3://b/p/a%2F?#b\n"},
		{"s3://b/p//", "x", "s3://b/p//x"},
		{"GS://b/50%?", "x", "GS://b/50%?/x"},
		{"https://h", "x", "https://h/x"},
		{"https://h/p/", "100%/a b?#+é", "https://h/p/100%25/a%20b%3F%23+%C3%A9"},
		{"https://me:pw@h/p%2Fq?sig=a/b#frag", "x y", "https://me:pw@h/p%2Fq/x%20y?sig=a/b"},
	} {
		require.Equal(t, c.want, Below(c.folder, c.rel), c.folder)
	}
	for _, rel := range []string{"%", "%zz", "\t", "\n", "\xff", "a//b", ".hidden", "..x", ":", ";=&", "\x00"} {
		u, err := url.Parse(Below("http://h/p", rel))
		require.NoError(t, err)
		require.Equal(t, "/p/"+rel, u.Path)
	}
	for name, want := range map[string]string{
		"s3://b/100%\n": "s3://b", "S3://b": "s3://b", "gs://b/x?y": "gs://b", "https://me:pw@h:1/x%20y": "https://h:1", "https://h/%zz": "", "x.nc": "", "/s3://b": "",
	} {
		require.Equal(t, want, Store(name), name)
	}
}
