package archive

import (
	"math"
	"strconv"
)

// geometry is the arithmetic of one variable's blocks, docs/FORMAT.md, section 3:
// which raw bytes each holds. Lengths are in bytes.
type geometry struct {
	shape, block, grid []int64
	size               int64 // of an element
	inner              int64 // of one index of the cut dimension
	run                int64 // of all indices of the cut dimension
	per                int64 // blocks in a run
	blockLen           int64 // decoded
	blocks             int64
	rawOff             int64 // of the variable
	rawLen             int64
	first              int64 // global number of block 0
}

// newGeometry checks shape and block shape, which are claims of a plan.
func newGeometry(shape, block []int64, size int64) (*geometry, error) {
	if len(shape) != len(block) {
		return nil, corruptf("block shape %v of a variable of shape %v", block, shape)
	}
	g := &geometry{shape: shape, block: block, size: size, grid: make([]int64, len(shape)), per: 1, blocks: 1}
	// The cut dimension is the first whose blocks hold more than one index.
	j := len(shape) - 1
	for i, b := range block {
		if b < 1 || shape[i] < 0 || b > max(1, shape[i]) {
			return nil, corruptf("block shape %v of a variable of shape %v", block, shape)
		}
		if b > 1 && i < j {
			j = i
		}
		g.grid[i] = ceilDiv(shape[i], b)
		var ok bool
		if g.blocks, ok = mul(g.blocks, g.grid[i]); !ok {
			return nil, corruptf("shape %v has too many blocks", shape)
		}
	}
	g.inner = size
	for i := len(shape) - 1; i > j; i-- {
		if block[i] != max(1, shape[i]) {
			return nil, corruptf("block shape %v of a variable of shape %v is not a run", block, shape)
		}
		var ok bool
		if g.inner, ok = mul(g.inner, block[i]); !ok || g.inner > maxBlock {
			return nil, corruptf("block shape %v holds more than %d bytes", block, maxBlock)
		}
	}
	g.run, g.blockLen = g.inner, g.inner
	if j >= 0 {
		var ok1, ok2 bool
		g.run, ok1 = mul(g.inner, max(1, shape[j]))
		g.blockLen, ok2 = mul(g.inner, block[j])
		if !ok1 || !ok2 || g.blockLen > maxBlock {
			return nil, corruptf("block shape %v holds more than %d bytes", block, maxBlock)
		}
		g.per = max(1, g.grid[j])
	}
	g.rawLen = size
	for _, n := range shape {
		var ok bool
		if g.rawLen, ok = mul(g.rawLen, n); !ok {
			return nil, corruptf("shape %v is too large", shape)
		}
	}
	return g, nil
}

// at returns the place of block b among the variable's raw bytes, and its
// length there, without padding.
func (g *geometry) at(b int64) (off, n int64) {
	in := b % g.per * g.blockLen
	return b/g.per*g.run + in, min(g.blockLen, g.run-in)
}

// find returns the block that holds raw byte off of the variable, and where.
func (g *geometry) find(off int64) (b, in int64) {
	in = off % g.run
	return off/g.run*g.per + in/g.blockLen, in % g.blockLen
}

// completion is the last index of dimension 0 that block b holds.
func (g *geometry) completion(b int64) int64 {
	if len(g.shape) == 0 {
		return 0
	}
	perRow := g.blocks / g.grid[0]
	return min((b/perRow+1)*g.block[0], g.shape[0]) - 1
}

// box is the index range of block b.
func (g *geometry) box(b int64) (start, count []int64) {
	start, count = make([]int64, len(g.shape)), make([]int64, len(g.shape))
	for i := len(g.shape) - 1; i >= 0; i-- {
		start[i] = b % g.grid[i] * g.block[i]
		count[i] = min(g.block[i], g.shape[i]-start[i])
		b /= g.grid[i]
	}
	return start, count
}

// appendKey appends the Zarr v2 chunk key of block b.
func (g *geometry) appendKey(dst []byte, b int64) []byte {
	if len(g.grid) == 0 {
		return append(dst, '0')
	}
	rest := g.blocks
	for i, n := range g.grid {
		if i > 0 {
			dst = append(dst, '.')
		}
		rest /= n
		dst = strconv.AppendInt(dst, b/rest, 10)
		b %= rest
	}
	return dst
}

// keysLen is the sum of the lengths of all keys, and the longest one.
func (g *geometry) keysLen() (sum, longest int64) {
	if g.blocks == 0 {
		return 0, 0
	}
	if len(g.grid) == 0 {
		return 1, 1
	}
	longest = int64(len(g.grid) - 1)
	sum = g.blocks * longest
	for _, n := range g.grid {
		longest += digits(n - 1)
		sum += digitsBelow(n) * (g.blocks / n)
	}
	return sum, longest
}

func digits(n int64) int64 { return int64(len(strconv.FormatInt(n, 10))) }

// digitsBelow is the number of decimal digits of 0, 1, … n-1 together.
func digitsBelow(n int64) int64 {
	sum := n // each has at least one
	for p := int64(10); p < n && p > 0; p *= 10 {
		sum += n - p
		if p > math.MaxInt64/10 {
			break
		}
	}
	return sum
}

// pad fills a block that holds n bytes by repeating its last element.
func (g *geometry) pad(block []byte, n int64) {
	for at := n; at < int64(len(block)); {
		at += int64(copy(block[at:], block[n-g.size:at]))
	}
}

// mul multiplies two numbers that are not negative and says whether the result fits.
func mul(a, b int64) (int64, bool) {
	if a != 0 && b > math.MaxInt64/a {
		return 0, false
	}
	return a * b, true
}
