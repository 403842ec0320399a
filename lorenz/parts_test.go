package lorenz

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/lorenz/internal/entropy"
	"github.com/cdfz-format/cdfz/lorenz/internal/parts"
)

// TestStacks encodes arrays that resemble each other little, some of them twice.
func TestStacks(t *testing.T) {
	rng := rand.New(rand.NewPCG(41, 41))
	modes := map[byte]int{}
	for _, ty := range someTypes() {
		for _, dims := range [][]int{{2, 40}, {1, 5, 1, 60}, {9, 3, 30}, {40, 64}, {3, 1}, {0, 8}} {
			p := Params{Type: ty, Order: Order(rng.IntN(2)), Dims: dims, Stack: true}
			rows, inner := p.stack()
			var raw []byte
			for i := range rows {
				row := field(ty, inner, []float64{0, 0.02, 1, 4}[rng.IntN(4)], rng)
				if i > 0 && rng.IntN(4) == 0 {
					k := rng.IntN(i) * len(row)
					row = raw[k : k+len(row)]
				}
				raw = append(raw, row...)
			}
			roundTrip(t, p, raw)
			e, err := NewEncoder(p, Max)
			require.NoError(t, err)
			enc, err := e.Encode(nil, raw)
			require.NoError(t, err)
			if len(enc) > 0 {
				modes[enc[0]]++
			}
		}
	}
	require.Positive(t, modes[modeParts], "%v", modes)
}

// TestPartsAreShorter compares the encodings of rows that need parameters of their own.
func TestPartsAreShorter(t *testing.T) {
	for _, c := range []struct {
		row     int // elements
		period  int // of the second one
		shorter []Level
	}{
		{1600, 1000, []Level{Max}},     // Default does not try such short stacks
		{3000, 1000, []Level{Default}}, // roundTrip leaves Max out
		{3000, 7, []Level{Default}},
	} {
		var raw []byte
		for i := range c.row {
			raw = appendValue(raw, Float32, float64(i*i)/8)
		}
		for i := range c.row {
			raw = appendValue(raw, Float32, float64(i*7919%c.period)/100)
		}
		raw = append(raw, raw[:4*c.row]...)
		p := Params{Type: Float32, Dims: []int{3, c.row}}
		plain := roundTrip(t, p, raw)
		p.Stack = true
		stacked := roundTrip(t, p, raw)
		for level := range stacked {
			if slices.Contains(c.shorter, Level(level)) {
				require.Less(t, 5*stacked[level], 4*plain[level])
			} else {
				require.Equal(t, plain[level], stacked[level])
			}
		}
	}
}

func TestManyParts(t *testing.T) {
	block := func(copies int) (Params, []byte) {
		b := []byte{modeParts, 1, 5}
		for range copies {
			b = append(b, 1, 0, 0)
		}
		return Params{Type: Float32, Dims: []int{copies + 1, 1}}, append(b, modeConst, 1, 2, 3, 4)
	}
	p, enc := block(parts.Most - 1)
	decodeAll(t, p, enc, bytes.Repeat([]byte{1, 2, 3, 4}, parts.Most))
	p, enc = block(parts.Most)
	d, err := NewDecoder(p)
	require.NoError(t, err)
	require.ErrorIs(t, d.Decode(make([]byte, 4*(parts.Most+1)), enc), ErrCorrupt)
}

// TestPartHeads decodes heads with numbers at the bounds of their types.
func TestPartHeads(t *testing.T) {
	p := Params{Type: Int8, Dims: []int{1 << 20, 2}}
	d, err := NewDecoder(p)
	require.NoError(t, err)
	dst := make([]byte, 1<<21)
	most := []uint64{0, 1, 1<<20 - 1, 1 << 20, 1<<31 - 1, 1 << 31, 1<<32 - 1, 1<<63 - 1, 1<<64 - 1}
	for _, rows := range most {
		for _, length := range most {
			for _, from := range most {
				b := entropy.AppendUvarint([]byte{modeParts}, rows)
				b = entropy.AppendUvarint(b, length)
				b = entropy.AppendUvarint(b, from)
				require.ErrorIs(t, d.Decode(dst, append(b, 1, 3, modeConst, 1)), ErrCorrupt, fmt.Sprint(rows, length, from))
			}
		}
	}
}
