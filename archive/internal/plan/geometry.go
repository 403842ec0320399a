package plan

import (
	"math"
	"strconv"
	"strings"

	"github.com/cdfz-format/cdfz/archive/internal/fault"
)

// Geometry is the arithmetic of one variable's blocks (docs/FORMAT.md, "Blocks"): which
// raw bytes each of them holds. Lengths are in bytes.
type Geometry struct {
	*cut
	RawOff int64 // of the variable
	First  int64 // global number of block 0
	Stack  bool  // whether the first indices of a block are arrays of their own
}

// cut is the part of a geometry that variables of the same shape share. It is immutable.
type cut struct {
	Shape, Block, Grid []int64
	Size               int64 // of an element
	inner              int64 // of one index of the cut dimension
	run                int64 // of all indices of the cut dimension
	per                int64 // blocks in a run
	BlockLen           int64 // decoded
	Blocks             int64
	RawLen             int64
}

// NewGeometry checks shape and block shape, which are claims of a plan.
func NewGeometry(shape, block []int64, size int64) (*Geometry, error) {
	c := &cut{}
	if err := c.set(shape, block, make([]int64, len(shape)), size); err != nil {
		return nil, err
	}
	return &Geometry{cut: c}, nil
}

// set makes g that of a shape. grid is memory for its field Grid.
func (g *cut) set(shape, block, grid []int64, size int64) error {
	if len(shape) != len(block) {
		return fault.Corruptf("block shape %v does not fit a variable of shape %v", block, shape)
	}
	*g = cut{Shape: shape, Block: block, Size: size, Grid: grid, per: 1, Blocks: 1}
	// The cut dimension is the first whose blocks hold more than one index.
	j := len(shape) - 1
	for i, b := range block {
		if b < 1 || shape[i] < 0 || b > max(1, shape[i]) {
			return fault.Corruptf("block shape %v does not fit a variable of shape %v", block, shape)
		}
		if b > 1 && i < j {
			j = i
		}
		g.Grid[i] = CeilDiv(shape[i], b)
		var ok bool
		if g.Blocks, ok = mul(g.Blocks, g.Grid[i]); !ok {
			return fault.Corruptf("shape %v has too many blocks", shape)
		}
	}
	g.inner = size
	for i := len(shape) - 1; i > j; i-- {
		if block[i] != max(1, shape[i]) {
			return fault.Corruptf("block shape %v of a variable of shape %v is not a run", block, shape)
		}
		var ok bool
		if g.inner, ok = mul(g.inner, block[i]); !ok || g.inner > maxBlock {
			return fault.Corruptf("block shape %v holds more than %d bytes", block, maxBlock)
		}
	}
	g.run, g.BlockLen = g.inner, g.inner
	if j >= 0 {
		var ok1, ok2 bool
		g.run, ok1 = mul(g.inner, max(1, shape[j]))
		g.BlockLen, ok2 = mul(g.inner, block[j])
		if !ok1 || !ok2 || g.BlockLen > maxBlock {
			return fault.Corruptf("block shape %v holds more than %d bytes", block, maxBlock)
		}
		g.per = max(1, g.Grid[j])
	}
	g.RawLen = size
	for _, n := range shape {
		var ok bool
		if g.RawLen, ok = mul(g.RawLen, n); !ok {
			return fault.Corruptf("shape %v is too large", shape)
		}
	}
	return nil
}

// At returns the place of block b among the variable's raw bytes, and its length there,
// without padding.
func (g *Geometry) At(b int64) (off, n int64) {
	in := b % g.per * g.BlockLen
	return b/g.per*g.run + in, min(g.BlockLen, g.run-in)
}

// Find returns the block that holds raw byte off of the variable, and the offset in it.
func (g *Geometry) Find(off int64) (b, in int64) {
	in = off % g.run
	return off/g.run*g.per + in/g.BlockLen, in % g.BlockLen
}

// completion returns the last index of dimension 0 in block b.
func (g *Geometry) completion(b int64) int64 {
	if len(g.Shape) == 0 {
		return 0
	}
	perRow := g.Blocks / g.Grid[0]
	return min((b/perRow+1)*g.Block[0], g.Shape[0]) - 1
}

// Box returns the index range of block b.
func (g *Geometry) Box(b int64) (start, count []int64) {
	start, count = make([]int64, len(g.Shape)), make([]int64, len(g.Shape))
	for i := len(g.Shape) - 1; i >= 0; i-- {
		start[i] = b % g.Grid[i] * g.Block[i]
		count[i] = min(g.Block[i], g.Shape[i]-start[i])
		b /= g.Grid[i]
	}
	return start, count
}

// AppendKey appends the Zarr v2 chunk key of block b.
func (g *Geometry) AppendKey(dst []byte, b int64) []byte {
	if len(g.Grid) == 0 {
		return append(dst, '0')
	}
	rest := g.Blocks
	for i, n := range g.Grid {
		if i > 0 {
			dst = append(dst, '.')
		}
		rest /= n
		dst = strconv.AppendInt(dst, b/rest, 10)
		b %= rest
	}
	return dst
}

// ParseKey returns the block with a Zarr v2 chunk key in canonical form.
func (g *Geometry) ParseKey(key string) (b int64, ok bool) {
	parts := strings.Split(key, ".")
	if len(parts) != max(1, len(g.Grid)) {
		return 0, false
	}
	for i, n := range g.Grid {
		c, err := strconv.ParseInt(parts[i], 10, 64)
		if err != nil || c < 0 || c >= n {
			return 0, false
		}
		b = b*n + c
	}
	return b, b < g.Blocks && string(g.AppendKey(nil, b)) == key
}

// KeysLen returns the sum of the lengths of all keys, and the length of the longest.
func (g *Geometry) KeysLen() (sum, longest int64) {
	if g.Blocks == 0 {
		return 0, 0
	}
	if len(g.Grid) == 0 {
		return 1, 1
	}
	longest = int64(len(g.Grid) - 1)
	sum = g.Blocks * longest
	for _, n := range g.Grid {
		longest += Digits(n - 1)
		sum += DigitsBelow(n) * (g.Blocks / n)
	}
	return sum, longest
}

func Digits(n int64) int64 { return int64(len(strconv.FormatInt(n, 10))) }

// DigitsBelow returns the total number of decimal digits of 0, 1, … n-1.
func DigitsBelow(n int64) int64 {
	sum := n // each has at least one
	for p := int64(10); p < n && p > 0; p *= 10 {
		sum += n - p
		if p > math.MaxInt64/10 {
			break
		}
	}
	return sum
}

// Pad fills a block that holds n bytes by repeating its last element.
func (g *Geometry) Pad(block []byte, n int64) {
	for at := n; at < int64(len(block)); {
		at += int64(copy(block[at:], block[n-g.Size:at]))
	}
}

// CheckPad checks the padding of the decoded block b.
func (g *Geometry) CheckPad(b int64, block []byte) error {
	_, n := g.At(b)
	if int64(len(block)) != g.BlockLen || n < g.Size {
		return nil
	}
	for at := n; at < g.BlockLen; at++ {
		if block[at] != block[at-g.Size] {
			return fault.Corruptf("its padding does not repeat its last element")
		}
	}
	return nil
}

// mul multiplies two non-negative numbers and reports whether the result fits.
func mul(a, b int64) (int64, bool) {
	if a != 0 && b > math.MaxInt64/a {
		return 0, false
	}
	return a * b, true
}
