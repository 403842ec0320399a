package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestDumpUnknownFilter checks that the header of an archive with an unknown filter is
// shown with -s, and that only reading values fails.
func TestDumpUnknownFilter(t *testing.T) {
	name := filepath.Join(t.TempDir(), "x.nc.cdfz")
	b, err := os.ReadFile("../../testdata/vectors/bad/filter_unknown")
	require.NoError(t, err)
	_, ar, ok := bytes.Cut(b, []byte("\n\n"))
	require.True(t, ok)
	require.NoError(t, os.WriteFile(name, ar, 0o666))
	var out, msg bytes.Buffer
	require.Zero(t, run(t.Context(), []string{"dump", "-hs", name}, nil, &out, &msg), "%s", &msg)
	require.Contains(t, out.String(), "\t\tv:_Filter = \"65000\" ;\n")
	require.NotContains(t, out.String(), "_Codecs")
	require.Equal(t, 1, run(t.Context(), []string{"dump", name}, nil, &out, &msg))
	require.Contains(t, msg.String(), "65000")
}
