package remote

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRedact checks that neither well-formed nor malformed URLs show a user, password
// or query.
func TestRedact(t *testing.T) {
	for in, want := range map[string]string{
		"x.nc":                               "x.nc",
		"a:b@c":                              "a:b@c",
		`C:\x@y`:                             `C:\x@y`,
		"C:/x@y":                             "C:/x@y",
		"http://h/x.nc":                      "http://h/x.nc",
		"http://h/a@b/x.nc":                  "http://h/a@b/x.nc",
		"http://me:s3cret@h/x":               "http://h/x",
		"HTTP://me:s3cret@h/x?s3cret#s3cret": "http://h/x",
		"http://me:s3cret/x@h/y":             "http://h/y",
		"http://me:s3cret/x#y@h":             "http://h",
		"http://me:s3cret?x@h/y?s3cret":      "http://h/y",
		"http://me:s3cret@h/x%":              "http://h/x%",
		"http://me:s3cret@h:port/x":          "http://h:port/x",
		"http://me:s3%cret@h/x":              "http://h/x",
		"http:///me:s3cret@h/x":              "http:///h/x",
		"http:/me:s3cret@h/x":                "http:/h/x",
		"https://me:s3cret@":                 "https://",
		"s3://me:s3cret@bucket/x?s3cret":     "s3://bucket/x",
		"http://me:s3cret@[::1/x":            "http://[::1/x",
		"http://h/x y?s3cret":                "http://h/x%20y",
		"http://h\x7f/x?s3cret":              "http://h\x7f/x",
		" http://me:s3cret@h/x":              "http://h/x",
		"'https://me:s3cret@h/x'":            "https://h/x'",
		"http:me:s3cret@h/x":                 "http:h/x",
		"http:x":                             "http:x",
		`https:\\me:s3cret@h\x`:              `https:h\x`,
		"http://me%3As3cret%40h/x":           "http://h/x",
		"http://me:s3cret@h/x\n":             "http://h/x\n",
		"http://h/x#s3cret?s3cret":           "http://h/x",
	} {
		require.Equal(t, want, Redact(in), in)
		if strings.Contains(in, "s3cret") {
			_, err := Open(context.Background(), in, &Options{Retries: -1, Timeout: 1})
			require.Error(t, err)
			require.NotContains(t, err.Error(), "s3cret")
		}
	}
	for name, want := range map[string]bool{"http://x": true, "HTTPS://": true, "http://%": true, "http:x": false, "x.nc": false, "ftp://x": false, "http": false} {
		require.Equal(t, want, IsURL(name), name)
	}
}
