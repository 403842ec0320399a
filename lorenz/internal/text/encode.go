package text

import "github.com/cdfz-format/cdfz/lorenz/internal/entropy"

// Encoder encodes blocks. It keeps buffers between calls.
type Encoder struct {
	w                entropy.StreamWriter
	parser           parser
	groups           groups
	runs, lens, dist []uint64
	nums             []uint64
	lits             [maxClusters][]byte
}

// Encode appends the bytes of a block. row is its likely length of rows. With quick it takes the
// first repeats that look good.
func (e *Encoder) Encode(dst, src []byte, row int, quick bool) []byte {
	p := &e.parser
	if quick {
		p.src, p.row = src, row
		p.quick()
		p.row = p.commonRow()
		e.groups.choose(src, p.tokens, p.row)
		return e.write(dst, src)
	}
	p.reset(src, row)
	p.parse()
	p.row = p.commonRow()
	e.groups.choose(src, p.tokens, p.row)
	// Again, with costs that fit this result.
	e.groups.price()
	p.fit(&e.groups)
	p.parse()
	e.groups.divide(src, p.tokens, p.row, e.groups.kind)
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
