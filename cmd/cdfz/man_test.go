//go:build man

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMan(t *testing.T) {
	dir := t.TempDir()
	var out, msg bytes.Buffer
	require.Zero(t, run(t.Context(), []string{"man", dir}, nil, &out, &msg), "%s", &msg)
	for _, page := range []string{"cdfz.1", "cdfz-archive.1", "cdfz-info.1"} {
		b, err := os.ReadFile(filepath.Join(dir, page))
		require.NoError(t, err)
		for _, section := range []string{".TH", ".SH EXAMPLES", ".SH EXIT STATUS"} {
			require.Contains(t, string(b), section, page)
		}
	}
	require.Equal(t, 1, run(t.Context(), []string{"man", filepath.Join(dir, "nosuch")}, nil, &out, &msg))
	require.Equal(t, 2, run(t.Context(), []string{"man"}, nil, &out, &msg))
}
