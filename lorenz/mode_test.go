package lorenz

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestLaterMode decodes a block of a later version.
func TestLaterMode(t *testing.T) {
	d, err := NewDecoder(Params{Type: Int32, Dims: []int{8}})
	require.NoError(t, err)
	err = d.Decode(make([]byte, 32), []byte{9, 0, 0})
	require.ErrorIs(t, err, ErrCorrupt)
	require.ErrorContains(t, err, "expected a mode up to 8, found 9: it needs a later version of cdfz")
}

func TestModeName(t *testing.T) {
	for mode, want := range map[byte]string{0: "raw", modeGroups: "groups", modeAdaptive: "adaptive", modeReferences: "references", modeText: "text", modeParts: "parts", modeContexts: "contexts", 9: "unknown", 255: "unknown"} {
		if got := ModeName(mode); got != want {
			t.Errorf("mode %d: found %q, expected %q", mode, got, want)
		}
	}
}
