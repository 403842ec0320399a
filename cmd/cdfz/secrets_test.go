package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestMalformedURLSecrets checks that messages and --json show no credentials of URLs
// that do not parse.
func TestMalformedURLSecrets(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range []string{"http://me:s3cret/x@h/y", "http://me:s3%cret@h/x?s3cret", "HTTP://me:s3cret@h:port/", "http:/me:s3cret@h/x", "s3://me:s3cret@h/x?s3cret"} {
		for _, verb := range []string{"archive", "restore", "verify", "repair", "info", "dump", "get", "bench"} {
			for _, args := range [][]string{{verb, name}, {verb, "--json", name}} {
				if verb == "get" {
					args = append(args, "v")
				}
				if verb == "dump" && args[1] == "--json" {
					continue
				}
				var out, msg bytes.Buffer
				require.NotZero(t, run(t.Context(), args, new(bytes.Buffer), &out, &msg), "%v", args)
				require.NotContains(t, out.String()+msg.String(), "s3cret", "%v", args)
			}
		}
	}
}
