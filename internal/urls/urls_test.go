package urls

import (
	"context"
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
		"s3://me:s3/cret@bucket/x":           "s3://bucket/x",
		"s3://bucket/a b?c#d%2F@é":           "s3://bucket/a b?c#d%2F@é",
		"GS://my-bucket.x_1/?":               "GS://my-bucket.x_1/?",
		"s3://bucket?s3cret":                 "s3://bucket",
		"s3:///bucket@x":                     "s3:///x",
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
	}
	for name, want := range map[string]bool{"http://x": true, "HTTPS://": true, "http://%": true, "http:x": false, "x.nc": false, "ftp://x": false, "S3://b/k": true, "http": false} {
		require.Equal(t, want, Is(name), name)
	}
}

// TestNotLinked checks that the error for a scheme that is not registered names the package.
func TestNotLinked(t *testing.T) {
	for in, want := range map[string]string{
		"https://me:s3cret@h/x?s3cret": "archive: https://h/x: the program does not import github.com/cdfz-format/cdfz/remote",
		"s3://b/x":                     "archive: s3://b/x: the program does not import github.com/cdfz-format/cdfz/remote/s3",
	} {
		_, err := Open(context.Background(), in)
		require.EqualError(t, err, want)
	}
}
