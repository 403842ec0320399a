package runlog

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCompat reads a log of an earlier version: docs/versions.md promises that.
func TestCompat(t *testing.T) {
	const name = "../../testdata/compat/1-tree/log.jsonl"
	b, err := os.ReadFile(name)
	require.NoError(t, err)
	var head struct {
		Run struct{ PID int }
	}
	require.NoError(t, json.NewDecoder(bytes.NewReader(b)).Decode(&head))
	r, err := Read(name, 0, head.Run.PID)
	require.NoError(t, err)
	require.True(t, r.Complete)
	require.Len(t, r.Entries, 5)
	for _, e := range r.Entries {
		require.Equal(t, "ok", string(e.Outcome))
		require.NotEmpty(t, e.SourceName())
		require.Len(t, e.SHA256, 64)
	}
}
