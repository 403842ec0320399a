package archive

import (
	"bytes"
	"context"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/cdf3"
)

// TestHints checks that blocks that are encoded like others of their variable are exact, and the same with any number of
// workers and in an archive that is made from another one. One block of the second variable resembles no other.
func TestHints(t *testing.T) {
	const steps, rows, columns = 70, 128, 128
	rng := rand.New(rand.NewPCG(1, 2))
	h := &cdf3.Header{Version: cdf3.Offset64, Dims: []cdf3.Dim{{Name: "t", Len: steps}, {Name: "y", Len: rows}, {Name: "x", Len: columns}}}
	for _, name := range []string{"a", "b"} {
		h.Vars = append(h.Vars, cdf3.Var{Name: name, Type: cdf3.Float, DimIDs: []int{0, 1, 2}})
	}
	require.NoError(t, h.Layout())
	image, err := h.Append(nil)
	require.NoError(t, err)
	for v := range h.Vars {
		image = append(image, make([]byte, h.Vars[v].Begin-int64(len(image)))...)
		for i := range steps * rows * columns {
			x, y, step := float64(i%columns), float64(i/columns%rows), i/(rows*columns)
			value := 20*math.Sin(x/30+y/50+float64(step)/9) + 0.01*rng.NormFloat64()*(1+math.Sin(y/9))
			if v == 1 && step == 40 {
				value = rng.NormFloat64()
			}
			image = binary.BigEndian.AppendUint32(image, math.Float32bits(float32(value)))
		}
	}
	var first []byte
	for _, workers := range []int{1, 2, 8} {
		ar := pack(t, image, &WriteOptions{Block: 64 << 10, Workers: workers})
		if first == nil {
			first = ar
		}
		require.True(t, bytes.Equal(first, ar), "%d workers", workers)
	}
	require.True(t, bytes.Equal(image, unpack(t, first)))
	portable := pack(t, image, &WriteOptions{Block: 64 << 10, Preset: PresetPortable})
	var again bytes.Buffer
	_, err = Rewrite(context.Background(), &again, openFile(t, portable, nil), &WriteOptions{Block: 64 << 10, Preset: PresetDefault})
	require.NoError(t, err)
	require.True(t, bytes.Equal(first, again.Bytes()))
}
