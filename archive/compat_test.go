package archive

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive/internal/archivetest"
)

// TestCompat reads the archives of earlier versions: verifying finds no damage, the images are those
// that were archived, and variables have the values of the image.
func TestCompat(t *testing.T) {
	for _, c := range archivetest.Compats(t) {
		require.Empty(t, verified(t, c.Archive).Damage, c.Name)
		image := unpack(t, c.Archive)
		require.Equal(t, c.SHA256, fmt.Sprintf("%x", sha256.Sum256(image)), c.Name)
		classic, err := New(t.Context(), bytes.NewReader(image), int64(len(image)), nil)
		require.NoError(t, err, c.Name)
		values := func(v *Var) []byte {
			b, err := io.ReadAll(io.NewSectionReader(v.Values(), 0, v.v.Len))
			require.NoError(t, err, "%s: %s", c.Name, v.Name())
			return b
		}
		for i, v := range openFile(t, c.Archive, nil).Vars() {
			require.True(t, bytes.Equal(values(classic.newVar(i)), values(v)), "%s: %s", c.Name, v.Name())
		}
	}
}
