package kernels

import (
	"math"
	"math/rand"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRestore compares Restore with its definition, at the limits of predictions and signs.
func TestRestore(t *testing.T) {
	rng := rand.New(rand.NewSource(1))
	bits := []uint32{0, 1, largestBits - 1, largestBits, largestBits + 1, 0x7F800000, 0x7FC00000, 1<<31 - 1}
	for range 2000 {
		bits = append(bits, rng.Uint32()>>1)
	}
	for _, b := range bits {
		for _, b := range []uint32{b, b | 1<<31} {
			p := math.Float32frombits(b)
			for _, r := range []uint32{0, 1, 1<<32 - 1, b, -b, 2 * b, 1 << 31, 1<<31 - 1, rng.Uint32(), rng.Uint32()} {
				want := Unordered(r + Ordered(math.Float32bits(Clamp(p))))
				require.Equal(t, want, Restore(r, p), "%#x, %#x", r, b)
				y := []uint32{r}
				Deviate(y, []float32{p})
				require.Equal(t, want, y[0], "%#x, %#x", r, b)
				if b != 1<<31 { // 0 + -0 is +0
					y[0] = r
					follow(y, []float32{p}, 0)
					require.Equal(t, want, y[0], "%#x, %#x", r, b)
				}
			}
		}
	}
}

// TestExtend compares Extend with its definition, for rows of all lengths.
func TestExtend(t *testing.T) {
	rng := rand.New(rand.NewSource(1))
	for n := range 400 {
		rows, want := make([][]uint32, n%(Rows+1)), make([][]uint32, n%(Rows+1))
		for k := range rows {
			rows[k] = make([]uint32, n)
			if k == len(rows)-1 || n%7 == 0 {
				rows[k] = rows[k][:rng.Intn(n+1)]
			}
			for i := range rows[k] {
				rows[k][i] = rng.Uint32() >> rng.Intn(32)
				if rng.Intn(2) == 0 {
					rows[k][i] = -rows[k][i]
				}
			}
			want[k] = make([]uint32, len(rows[k]))
			var w, ww float32
			for i, r := range rows[k] {
				want[k][i] = Unordered(r + Ordered(math.Float32bits(Clamp(w+float32(w-ww)))))
				w, ww = math.Float32frombits(want[k][i]), w
			}
		}
		Extend(rows)
		require.Equal(t, want, rows)
	}
}

// TestWave compares Wave with its definition, for rows of all lengths.
func TestWave(t *testing.T) {
	rng := rand.New(rand.NewSource(1))
	for row := 1; row < 120; row++ {
		rows := 1 + Rows + 1
		plane := rows * row
		y := make([]uint32, 2*plane)
		for i := range y {
			y[i] = math.Float32bits(float32(rng.NormFloat64() * math.Pow(10, float64(rng.Intn(80)-40))))
			if i >= plane+row {
				y[i] = rng.Uint32() >> rng.Intn(32)
				if rng.Intn(2) == 0 {
					y[i] = -y[i]
				}
			}
		}
		for _, past := range []int{0, plane} {
			want := slices.Clone(y)
			for k := 1; k <= Rows; k++ {
				for i := range row {
					value := func(back, left int) float32 {
						if left > i {
							return 0
						}
						return math.Float32frombits(want[plane+k*row+i-back-left])
					}
					p := value(row, 0) - value(row, 1)
					if past > 0 {
						p += float32(float32(value(past, 0)-value(past, 1)) - float32(value(past+row, 0)-value(past+row, 1)))
					}
					p += value(0, 1)
					r := &want[plane+k*row+i]
					*r = Unordered(*r + Ordered(math.Float32bits(Clamp(p))))
				}
			}
			got := slices.Clone(y)
			if Wave(got, plane+row, row, past) {
				require.Equal(t, want, got, "rows of %d", row)
			} else {
				require.False(t, haveFast && row >= 17)
				require.Equal(t, y, got)
			}
		}
	}
}

// TestStamp compares Stamp with its definition, for runs of all lengths.
func TestStamp(t *testing.T) {
	rng := rand.New(rand.NewSource(1))
	masks := []uint64{0, 1, 1 << 63, 1<<64 - 1, 1<<63 | 1, 1<<63 - 1, 1<<64 - 2, 0x5555555555555555}
	for range 200 {
		masks = append(masks, rng.Uint64()|rng.Uint64(), rng.Uint64()<<rng.Intn(64), ^(rng.Uint64() >> rng.Intn(64)))
	}
	dst := make([]byte, 256*len(masks))
	rng.Read(dst)
	want := append([]byte(nil), dst...)
	for i := range 64 * len(masks) {
		if masks[i/64]>>(i%64)&1 > 0 {
			copy(want[4*i:], "\x01\x02\x03\x04")
		}
	}
	require.Equal(t, len(masks), Stamp(dst, masks, 0x04030201))
	require.Equal(t, want, dst)
}
