package text

import (
	"math/bits"

	"github.com/cdfz-format/cdfz/lorenz/internal/entropy"
)

// Encoder encodes blocks. It keeps buffers between calls.
type Encoder struct {
	w                entropy.StreamWriter
	parser           parser
	groups           groups
	runs, lens, dist []uint64
	nums             []uint64
	lits             [maxClusters][]byte
}

// Encode appends the bytes of a block. row is its likely length of rows.
func (e *Encoder) Encode(dst, src []byte, row int) []byte {
	p := &e.parser
	p.reset(src, row)
	p.parse()
	p.row = p.commonRow()
	e.groups.choose(src, p.tokens, p.row)
	for range 2 { // each time with costs that fit the result before
		e.groups.price()
		p.fit(&e.groups)
		p.parse()
		e.groups.divide(src, p.tokens, p.row, e.groups.kind)
	}
	return e.write(dst, src)
}

// write appends the bytes of a parsed block.
func (e *Encoder) write(dst, src []byte) []byte {
	p, g, w := &e.parser, &e.groups, &e.w
	w.Dst = append(dst, byte(g.kind|(g.n-1)<<2))
	w.Dst = entropy.AppendUvarint(w.Dst, uint64(p.row))
	if g.kind != contextNone {
		n, _ := contextsOf(g.kind, p.row)
		e.nums = e.nums[:0]
		for _, c := range g.cluster[:n] {
			e.nums = append(e.nums, uint64(c))
		}
		w.Numbers(e.nums)
	}
	for k := range e.lits {
		e.lits[k] = e.lits[k][:0]
	}
	e.runs, e.lens, e.dist = e.runs[:0], e.lens[:0], e.dist[:0]
	at := 0
	last := newRecents(p.row)
	literals := func(end int) {
		for ; at < end; at++ {
			k := g.cluster[context(src, at, g.kind, p.row, last[0])]
			e.lits[k] = append(e.lits[k], src[at])
		}
	}
	for _, t := range p.tokens {
		e.runs = append(e.runs, uint64(t.at-at))
		literals(t.at)
		code := last.code(t.dist, p.row)
		last.use(code, uint64(t.dist))
		e.lens, e.dist = append(e.lens, uint64(t.n-minRepeat)), append(e.dist, code)
		at += t.n
	}
	literals(len(src))
	w.Dst = entropy.AppendUvarint(w.Dst, uint64(len(p.tokens)))
	w.Numbers(e.runs)
	w.Numbers(e.lens)
	w.Numbers(e.dist)
	for _, l := range e.lits[:g.n] {
		w.Dst = entropy.AppendUvarint(w.Dst, uint64(len(l)))
		w.Symbols(l)
	}
	dst, w.Dst = w.Dst, nil
	return dst
}

// code returns the code of a distance.
func (r *recents) code(dist, row int) uint64 {
	for i, d := range r {
		if d == uint64(dist) {
			return uint64(i)
		}
	}
	if dist%row == 0 && dist/row <= rows {
		return uint64(recent + dist/row - 1)
	}
	return uint64(recent + rows + dist - 1)
}

// Costs are in units of 2^-costFrac bits.
const costFrac = 6

// log2 approximates the logarithm of v ≥ 1 as a cost.
func log2(v int) int32 {
	n := bits.Len64(uint64(v))
	return int32(n-1)<<costFrac + int32(uint64(v)<<(64-n)<<1>>(64-costFrac))
}

// numberCosts are the costs of numbers of a stream.
type numberCosts [256]int32

// of returns the cost of a number.
func (c *numberCosts) of(v uint64) int32 {
	if v < 192 {
		return c[v]
	}
	return c[184+bits.Len64(v)]
}

// numberFreq counts numbers of a stream.
type numberFreq [256]int

func (f *numberFreq) add(v uint64) {
	if v < 192 {
		f[v]++
	} else {
		f[184+bits.Len64(v)]++
	}
}

// costs returns the costs that fit the numbers counted.
func (f *numberFreq) costs() (c numberCosts) {
	total := 0
	for _, n := range f {
		total += n
	}
	for y, n := range f {
		c[y] = min(log2(8*total+64)-log2(8*n+1), 11<<costFrac)
		if y >= 192 {
			c[y] += int32(y-185) << costFrac
		}
	}
	return c
}
