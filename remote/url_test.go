package remote

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSecrets checks that errors for malformed URLs do not show a user, password or query.
func TestSecrets(t *testing.T) {
	for _, name := range []string{
		"http://me:s3cret/x@h/y", "http://me:s3cret@h/x%", "http://me:s3cret@h:port/x", "http://me:s3%cret@h/x", "http:///me:s3cret@h/x",
		"http:/me:s3cret@h/x", "https://me:s3cret@", "s3://me:s3cret@bucket/x?s3cret", "http://me:s3cret@[::1/x", "http://h/x y?s3cret",
		"http://h\x7f/x?s3cret", " http://me:s3cret@h/x", "'https://me:s3cret@h/x'", "http:me:s3cret@h/x", `https:\\me:s3cret@h\x`,
		"http://me%3As3cret%40h/x", "http://me:s3cret@h/x\n", "http://h/x#s3cret?s3cret",
	} {
		_, err := Open(t.Context(), name, &Options{Retries: -1, Timeout: 1})
		require.Error(t, err)
		require.NotContains(t, err.Error(), "s3cret")
	}
}
