package lorenz

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/lorenz/internal/arith"
	"github.com/cdfz-format/cdfz/lorenz/internal/entropy"
	"github.com/cdfz-format/cdfz/lorenz/internal/predict"
)

// hostile is a block that claims much for few bytes.
type hostile struct {
	name string
	p    Params
	src  []byte
}

// bytesOf joins bytes, and numbers as uv.
func bytesOf(parts ...any) (b []byte) {
	for _, x := range parts {
		switch x := x.(type) {
		case int:
			b = binary.AppendUvarint(b, uint64(x))
		case byte:
			b = append(b, x)
		case []byte:
			b = append(b, x...)
		}
	}
	return b
}

// constant is a stream of one symbol. With chunks it may have extra bits, so that the places of its
// chunks are kept.
func constant(symbol byte, chunks bool) []byte {
	if chunks {
		return []byte{4, symbol, 0, 0}
	}
	return []byte{0, symbol}
}

// hostileBlocks returns blocks of at least n elements of a type: constant streams wherever a block may
// have them, with the largest counts.
func hostileBlocks(ty Type, n int) (list []hostile) {
	size, zero, none := ty.Size(), byte(0), byte(0)
	wide := byte(0)
	if size == 8 {
		wide = flagWide
	}
	p := Params{Type: ty, Dims: []int{n}}
	add := func(name string, p Params, parts ...any) {
		list = append(list, hostile{name, p, bytesOf(parts...)})
	}
	for _, chunks := range []bool{false, true} {
		groups := bytesOf([]byte{0, 0, 0}, constant(0, false)) // all zeros
		ones := constant(1, chunks)
		specials := bytesOf(make([]byte, 2*size), 1, n, constant(2, chunks)) // runs of one element
		add("runs of a mask", p, byte(modeGroups), 2|wide, zero, none, specials, groups)
		add("runs of a mask of one value", p, byte(modeGroups), 1|wide, zero, none, make([]byte, size), 1, n, ones, groups)
		add("runs of a mask, far", p, byte(modeGroups), 1|wide, zero, none, make([]byte, size), n/2, n, ones, groups)
		tokens := func(m int) []byte {
			return bytesOf(m/2, constant(1, chunks), constant(0, chunks), constant(0, chunks))
		}
		add("repeats", p, byte(modeGroups), flagRepeats|wide, zero, none, tokens(n), groups)
		// The last element is masked.
		mask := bytesOf(make([]byte, size), 0, 2, entropyNumbers(uint64(n-1), 1))
		add("repeats and a mask", p, byte(modeGroups), flagRepeats|1|wide, zero, none, mask, tokens(n-1), groups)
		add("references and a mask", p, byte(modeReferences), 1|wide, zero, none, mask, byte(0), []byte{2, 0, 0}, constant(0, false), groups)
		add("patches", p, byte(modeGroups), flagPatches|wide, zero, none, n-1, ones, make([]byte, (n-1)*size), groups)
		add("references", p, byte(modeReferences), wide, zero, none, byte(0), []byte{2, 0, 0}, constant(0, false), groups)
		add("references, adaptive", p, byte(modeReferences), wide, zero, none, byte(refAdaptive), []byte{2, 0, 0}, constant(0, false), zeros(n))
		strides := bytesOf(byte(4), n-1, n/2, n/3, 1)
		add("strides", p, byte(modeGroups), wide, zero, strides, groups)
		add("cells", p, byte(modeGroups), flagCells|wide, zero, 1, 1, none, groups)
		add("cells of two planes", p, byte(modeGroups), flagCells|wide, zero, n/2, 1, none, groups)
		// A literal, then repeats of two bytes, and another literal.
		add("text", p, byte(modeText), zero, 1, n*size/2-1, entropyFirst(1, n*size/2-1), constant(0, chunks), constant(0, chunks), 2, []byte{1, 7, 7})
		literals := bytesOf(byte(1|15<<2), 1, constant(0, false), 0)
		literals = append(literals, bytesOf(n*size, constant(0, false))...)
		for range 15 {
			literals = append(literals, 0)
		}
		add("literals", p, byte(modeText), literals)
		if ty.float() {
			for kind := byte(predict.WN); kind <= predict.WW; kind++ {
				if kind == predict.WN || kind == predict.WW {
					add(fmt.Sprintf("rows, kind %d", kind), p, byte(modeGroups), flagFloat|wide, zero, kind, n, groups)
					continue
				}
				add(fmt.Sprintf("rows, kind %d", kind), p, byte(modeGroups), flagFloat|flagCells|wide, zero, n/2, n/2, kind, n/2, n/2, groups)
			}
		}
		add("dictionary", p, byte(modeGroups), zero, byte(mapDict), none, min(n, maxDict), []byte{2, 0, 0}, constant(0, false), groups)
		// Values that are too large for symbols: four of 2 bits, each with 4 extra bits.
		if chunks {
			m := n / 4096 * 4096
			if m > 0 {
				add("large values", Params{Type: ty, Dims: []int{m}}, byte(modeGroups), wide, zero, none,
					[]byte{0, 2, 0}, entropyFirst(1, m/32), []byte{4, 255}, 1024, byte(0), make([]byte, m/2))
			}
		}
	}
	for _, dims := range [][]int{{n}, {2, min(n/2, 1<<19)}, {2, 2, min(n/4, 1<<19)}} {
		p := Params{Type: ty, Dims: dims}
		m, _ := p.check()
		add(fmt.Sprintf("adaptive, %d dimensions", len(dims)), p, byte(modeAdaptive), wide, zero, none, zeros(m))
	}
	for _, dims := range [][]int{{min(n, 1<<20)}, {2, min(n/2, 1<<20)}, {2, 16, min(n/32, 1<<16)}, {min(n/32, 1<<15), 32}, {8, n / 8}} {
		p := Params{Type: ty, Dims: dims}
		block := contextBlock(dims, func(c *contextParts) { c.head[1] = wide })
		add(fmt.Sprint("contexts", dims), p, block)
	}
	// Parts of different lengths, and copies of the first one.
	first := list[0]
	rows := 8
	parts := Params{Type: ty, Dims: []int{rows, n}}
	var heads, blocks []byte
	heads = bytesOf(1, len(first.src))
	for r := 1; r < rows; r++ {
		heads = append(heads, bytesOf(1, 0, 0)...)
	}
	blocks = first.src
	add("copies", parts, byte(modeParts), heads, blocks)
	return list
}

// entropyNumbers is a stream of numbers.
func entropyNumbers(v ...uint64) []byte {
	var w entropy.StreamWriter
	w.Numbers(v)
	return w.Dst
}

// entropyFirst is a stream of a number and count-1 zeros.
func entropyFirst(first uint64, count int) []byte {
	v := make([]uint64, count)
	v[0] = first
	return entropyNumbers(v...)
}

// zeros codes n residuals in modeAdaptive that are 0: a bit for each group.
func zeros(n int) []byte {
	c := arith.NewEncoder(nil)
	var p [8]arith.Prob
	arith.Reset(p[:])
	for g, history := 0, 0; g < n; g += entropy.GroupLen {
		c.Bit(&p[history], 1)
		history = history<<1&7 | 1
	}
	body := c.Finish()
	return bytesOf(byte(0), len(body), body)
}

// allocated returns the bytes that f allocates.
func allocated(f func()) int64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return int64(after.TotalAlloc - before.TotalAlloc)
}

// TestMemory decodes blocks whose few bytes claim much, and compares the allocated memory with
// Params.Memory. Blocks of the soak are longer.
func TestMemory(t *testing.T) {
	lengths := []int{2048, 1 << 20}
	if os.Getenv("CDFZ_SOAK") != "" {
		lengths = append(lengths, 1<<26)
	} else if testing.Short() {
		lengths = []int{2048, 1 << 18}
	}
	for _, n := range lengths {
		for _, ty := range []Type{Int8, Int16, Float32, Float64, Int64} {
			for _, h := range hostileBlocks(ty, min(n, maxBytes/8/ty.Size())) {
				name := fmt.Sprintf("%s, %d elements of type %d", h.name, n, ty)
				count, err := h.p.check()
				require.NoError(t, err)
				size := ty.Size()
				dst := make([]byte, count*size)
				measure := func(what string, decode func(d *Decoder) error, more int) {
					var d *Decoder
					got := allocated(func() {
						d, err = NewDecoder(h.p)
						require.NoError(t, err)
						err = decode(d)
					})
					limit := h.p.Memory() + int64(more)
					require.LessOrEqual(t, got, limit, "%s, %s", name, what)
					if os.Getenv("CDFZ_VERBOSE") != "" {
						t.Logf("%s, %s: %.2f a byte, %d of %d (%v)", name, what, float64(got)/float64(count*size), got, limit, err)
					}
				}
				measure("whole", func(d *Decoder) error { return d.Decode(dst, h.src) }, 0)
				if err != nil {
					t.Logf("%s: %v", name, err)
				}
				measure("range", func(d *Decoder) error { return d.DecodeRange(dst[:size], h.src, count-1, count) }, count*size)
				r := Runs{Start: 1, Len: 1, Stride: count / 2, Count: 2}
				measure("runs", func(d *Decoder) error { return d.DecodeRuns(dst[:2*size], h.src, r) }, count*size)
			}
		}
	}
}

// TestMemoryRandom does the same with changed blocks.
func TestMemoryRandom(t *testing.T) {
	rounds := 300
	if os.Getenv("CDFZ_SOAK") != "" {
		rounds = 100_000
	}
	rng := rand.New(rand.NewPCG(8, 8))
	var list []hostile
	for _, ty := range types {
		list = append(list, hostileBlocks(ty, 1<<14)...)
	}
	for range rounds {
		h := list[rng.IntN(len(list))]
		src := append([]byte(nil), h.src...)
		for range 1 + rng.IntN(3) {
			src[rng.IntN(min(len(src), 64))] = byte(rng.Uint32())
		}
		n, err := h.p.check()
		require.NoError(t, err)
		dst := make([]byte, n*h.p.Type.Size())
		got := allocated(func() {
			d, err := NewDecoder(h.p)
			require.NoError(t, err)
			_ = d.Decode(dst, src)
		})
		require.LessOrEqual(t, got, h.p.Memory(), "%s %+v %x", h.name, h.p, src)
	}
}

// TestUntil decodes blocks whose context is done, of every kind of long work: none reaches the end of
// the block.
func TestUntil(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	const untouched = 0xAA
	for _, ty := range []Type{Int8, Float32, Float64} {
		for _, h := range hostileBlocks(ty, 1<<17) {
			n, err := h.p.check()
			require.NoError(t, err)
			dst := bytes.Repeat([]byte{untouched}, n*ty.Size())
			d, err := NewDecoder(h.p)
			require.NoError(t, err)
			d.Until(ctx)
			require.ErrorIs(t, d.Decode(dst, h.src), context.Canceled, h.name)
			require.EqualValues(t, untouched, dst[len(dst)-1], h.name)
			r := Runs{Start: 1, Len: 1, Stride: n - 2, Count: 2}
			require.ErrorIs(t, d.DecodeRuns(dst[:2*ty.Size()], h.src, r), context.Canceled, h.name)
			d.Until(context.Background())
			require.NoError(t, d.Decode(dst, h.src), h.name)
		}
	}
}
