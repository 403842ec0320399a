package lorenz

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// variable returns blocks of a variable that resemble each other, except the last ones.
func variable(typ Type, dims []int, kind string) [][]byte {
	rng := rand.New(rand.NewPCG(7, 7))
	n := dims[0] * dims[1] * dims[2]
	var blocks [][]byte
	for b := range 8 {
		var out []byte
		for i := range n {
			x, y := float64(i%dims[2]), float64(i/dims[2])
			v := 280 + 20*math.Sin(x/40+float64(b)) + 10*math.Cos(y/30) + 0.01*rng.NormFloat64()*(1+math.Sin(y/9))
			if b == 5 {
				v = rng.NormFloat64()
			}
			if kind == "decimals" && b != 6 {
				v = math.Round(v*100) / 100
			}
			if kind == "masked" && b != 4 && i%dims[2] < dims[2]/3 {
				v = -1e34
			}
			if b == 7 {
				v = 3
			}
			switch typ {
			case Float32:
				out = binary.BigEndian.AppendUint32(out, math.Float32bits(float32(v)))
			case Float64:
				out = binary.BigEndian.AppendUint64(out, math.Float64bits(v))
			default:
				out = binary.BigEndian.AppendUint16(out, uint16(int16(10*max(v, -1000))))
			}
		}
		blocks = append(blocks, out)
	}
	return blocks
}

// TestLike checks that blocks encoded with the hint of each other block are exact and hardly longer, that the bytes
// depend on the two blocks alone, and that the hint is used.
func TestLike(t *testing.T) {
	for _, typ := range []Type{Float32, Float64, Int16} {
		for _, kind := range []string{"full", "decimals", "masked"} {
			for _, level := range []Level{Default, Fast, Max} {
				if level == Max && (typ != Float32 || kind != "masked") {
					continue // it takes no hints
				}
				dims := []int{2, 90, 130}
				p := Params{Type: typ, Dims: dims}
				blocks := variable(typ, dims, kind)
				e, err := NewEncoder(p, level)
				require.NoError(t, err)
				d, err := NewDecoder(p)
				require.NoError(t, err)
				alone := make([][]byte, len(blocks))
				for k, block := range blocks {
					alone[k], err = e.Encode(nil, block)
					require.NoError(t, err)
				}
				used := 0
				for _, i := range []int{0, 4, 5, 6, 7} {
					_, hint, err := e.EncodeLike(nil, blocks[i], nil)
					require.NoError(t, err)
					for k, block := range blocks {
						got, _, err := e.EncodeLike(nil, block, hint)
						require.NoError(t, err)
						if e.like != nil {
							used++
						}
						out := make([]byte, len(block))
						require.NoError(t, d.Decode(out, got))
						require.Equal(t, block, out)
						require.LessOrEqual(t, len(got), len(alone[k])+len(alone[k])/50+64, "%v %s %d: block %d like %d", typ, kind, level, k, i)
						other, err := NewEncoder(p, level)
						require.NoError(t, err)
						if level == Max {
							require.Equal(t, alone[k], got)
							continue
						}
						again, _, err := other.EncodeLike(nil, block, hint)
						require.NoError(t, err)
						require.Equal(t, got, again)
					}
				}
				if typ == Float32 && level != Max {
					require.NotZero(t, used, "%v %s %d", typ, kind, level)
				}
			}
		}
	}
}
