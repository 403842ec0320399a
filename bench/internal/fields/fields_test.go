package fields

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/cdf3"
)

// The bytes must never change, or earlier results could not be compared.
func TestSyntheticIsFixed(t *testing.T) {
	f, err := Synthetic(1 << 20)
	require.NoError(t, err)
	var b bytes.Buffer
	n, err := f.WriteTo(&b)
	require.NoError(t, err)
	require.GreaterOrEqual(t, n, int64(1<<20))
	require.EqualValues(t, b.Len(), n)
	sum := sha256.Sum256(b.Bytes())
	require.Equal(t, "b58da95f7f65502f90320156a7a64dacd2953d9972116e92f571faa46dd0f1e7", hex.EncodeToString(sum[:]))

	h, err := cdf3.Read(bytes.NewReader(b.Bytes()), n)
	require.NoError(t, err)
	require.Equal(t, f.header.RecSize, h.RecSize)
	require.Positive(t, h.NumRecs)
}
