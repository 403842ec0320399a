package filters

import (
	"encoding/binary"
	"math/bits"
)

// The match finder for byte planes. A plane of shuffled numbers has short,
// cheap literals, so a match pays only if it saves more than its offset costs:
// every decision is made in estimated bits. Candidates come from hash chains;
// a match is held back while one that starts later saves more.

const (
	planeHashBits  = 16      // at most: a plane of a block of default size has 2^16 positions
	planeRing      = 1 << 17 // positions the chains reach back
	planeMinMatch  = 4
	planeMinRepeat = 3 // with an offset that costs next to nothing

	// Decoders copy a match byte by byte where it overlaps what it copies, and each
	// byte waits for the one before if the offset is short. A long run of one value
	// is therefore two matches: one up to the first multiple of its offset of at
	// least runOff, and the rest with that: a few bits more, and much faster to decode
	// in masked variables, which BenchmarkMasked watches.
	runOff = 16
	runMin = 64

	// After 2^patience positions without a match that pays, every second position
	// is searched, and so on down to one in missMax+1.
	missMax = 32
)

// zseq is a sequence: literals, then a match. off is an offset plus 3, or 1 or 2
// for a repeated offset (RFC 8878, 3.1.1.5).
type zseq struct {
	lits, match uint32
	off         uint32
}

type planeFinder struct {
	head  [1 << planeHashBits]int32 // last position + 1 of a hash
	shift uint                      // of a hash to the bits that are used
	chain [planeRing]int32          // position + 1 before
	next  int                       // the first position that is not in the chains
	cum   []uint32                  // bits*16 of the block's literals before a position
	seqs  []zseq
	lits  []byte
	rep   [2]int // the last two offsets, 0 where there is none
}

// start forgets everything, the repeated offsets as well, so that what follows, n
// bytes, can be decoded without what is before.
func (f *planeFinder) start(n int) {
	width := min(planeHashBits, max(8, bits.Len(uint(n))))
	f.shift = 32 - uint(width)
	clear(f.head[:1<<width])
	f.next = 0
	f.rep = [2]int{}
}

// price fills cum with what each byte of the block costs as a literal, from the
// frequencies of a third of them: Huffman codes have at least one bit and at most
// eleven. Literals are dearer than their frequency says, by a bit as measured:
// matches take the commonest away.
func (f *planeFinder) price(block []byte) {
	var count [4][256]uint32
	seen := 0
	for p := block; len(p) >= 4; p = p[min(12, len(p)):] {
		count[0][p[0]]++
		count[1][p[1]]++
		count[2][p[2]]++
		count[3][p[3]]++
		seen += 4
	}
	var cost [256]uint32
	total := log2(uint32(max(seen, 1)))
	for b := range cost {
		cost[b] = 11 << 4
		if c := count[0][b] + count[1][b] + count[2][b] + count[3][b]; c > 0 {
			cost[b] = uint32(min(max(total-log2(c)+1<<8, 1<<8), 11<<8)) >> 4
		}
	}
	if cap(f.cum) < len(block)+1 {
		f.cum = make([]uint32, len(block)+1)
	}
	f.cum = f.cum[:len(block)+1]
	cum := f.cum[:len(block)]
	sum := uint32(0)
	for i, b := range block {
		cum[i] = sum
		sum += cost[b]
	}
	f.cum[len(block)] = sum
}

// Costs in bits*16. A sequence has three codes.
const (
	seqCost = 9 << 4
	repCost = 6 << 4
)

func (f *planeFinder) hash(word uint32) uint32 { return word * 2654435761 >> f.shift }

// insert puts the positions up to until into the chains.
func (f *planeFinder) insert(plane []byte, until int) {
	for i := f.next; i < until; i++ {
		h := f.hash(binary.LittleEndian.Uint32(plane[i:]))
		f.chain[i&(planeRing-1)] = f.head[h]
		f.head[h] = int32(i + 1)
	}
	f.next = max(f.next, until)
}

// candidate is a match of n bytes that starts at at and saves gain bits*16.
type candidate struct{ at, n, off, gain int }

// search gives the match at i that saves most, if it saves more than best. The
// block is plane[from:to].
func (f *planeFinder) search(plane []byte, from, to, i, depth int, best candidate) candidate {
	if f.next < i {
		f.insert(plane, i)
	}
	word := binary.LittleEndian.Uint32(plane[i:])
	h := f.hash(word)
	c := int(f.head[h]) - 1
	f.chain[i&(planeRing-1)] = int32(c + 1)
	f.head[h] = int32(i + 1)
	f.next = i + 1
	low := max(0, i-planeRing+1)
	cum := f.cum[i-from : to-from+1]
	n := planeMinMatch - 1
	for ; c >= low; depth-- {
		if binary.LittleEndian.Uint32(plane[c:]) == word && plane[c+n] == plane[i+n] {
			if m := planeMinMatch + lz4Count(plane, i+planeMinMatch, c+planeMinMatch, to); m > n {
				n = m
				g := int(cum[m]-cum[0]) - seqCost - log2(uint32(i-c+3))>>4
				if g > best.gain {
					best = candidate{i, m, i - c, g}
				}
				if i+m >= to {
					break
				}
			}
		}
		if depth <= 1 {
			break
		}
		c = int(f.chain[c&(planeRing-1)]) - 1
	}
	return best
}

// repeat is search for the last two offsets. There must be literals before i:
// without, they have other codes.
func (f *planeFinder) repeat(plane []byte, from, to, i int, best candidate) candidate {
	word := binary.LittleEndian.Uint32(plane[i:])
	for k, off := range f.rep {
		j := i - off
		if off == 0 || j < 0 || (binary.LittleEndian.Uint32(plane[j:])^word)<<8 != 0 {
			continue
		}
		n := planeMinRepeat + lz4Count(plane, i+planeMinRepeat, j+planeMinRepeat, to)
		if g := int(f.cum[i-from+n]-f.cum[i-from]) - repCost - k<<4; g > best.gain {
			best = candidate{i, n, off, g}
		}
	}
	return best
}

// skip returns the first position from i on, at most end, at which repeat would
// find something at the next one.
func (f *planeFinder) skip(plane []byte, i, end, anchor int) int {
	a, b := f.rep[0], f.rep[1]
	if a > i || a == 0 {
		return end
	}
	if b > i || b == 0 {
		b = a
	}
	for ; i < end; i++ {
		// In noise, hardly any of eight bytes is equal: then no three of them are, and
		// six positions are done.
		word := binary.LittleEndian.Uint64(plane[i+1:])
		x := word ^ binary.LittleEndian.Uint64(plane[i+1-a:])
		y := word ^ binary.LittleEndian.Uint64(plane[i+1-b:])
		switch {
		case !hasZero(x) && !hasZero(y):
			i += 8 - planeMinRepeat
		case x<<40 == 0 || y<<40 == 0:
			return i
		}
		i += (i - anchor) >> 8
	}
	return end
}

// hasZero says whether one of the eight bytes of x is 0.
func hasZero(x uint64) bool {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	return (x-ones)&^x&tops != 0
}

// emit adds a sequence; a long run becomes two.
func (f *planeFinder) emit(lits, n, off int) {
	if off < runOff && n >= runMin {
		far := (runOff + off - 1) / off * off
		f.sequence(lits, far-off, off)
		f.sequence(0, n-(far-off), far)
		return
	}
	f.sequence(lits, n, off)
}

// sequence gives an offset its code (RFC 8878, 3.1.1.5): 1 is the last one, or the
// one before if there are no literals; 2 the one before if there are.
func (f *planeFinder) sequence(lits, n, off int) {
	code := off + 3
	switch {
	case off == f.rep[0] && lits > 0:
		code = 1
	case off == f.rep[1]:
		code = 1
		if lits > 0 {
			code = 2
		}
		f.rep[0], f.rep[1] = off, f.rep[0]
	default:
		f.rep[0], f.rep[1] = off, f.rep[0]
	}
	f.seqs = append(f.seqs, zseq{uint32(lits), uint32(n), uint32(code)})
}

// find fills seqs and lits for plane[from:to]. Matches may reach back to the
// start of the plane. e.lazy is at most 3.
func (f *planeFinder) find(plane []byte, from, to int, e effort) {
	depth, lazy := e.depth, e.lazy
	f.price(plane[from:to])
	f.seqs, f.lits = f.seqs[:0], f.lits[:0]
	end := to - 8 // the last place a search may start
	anchor := from
	// Planes of low bytes are noise between runs of one value (masked values,
	// zeros). The runs need no search, only the repeated offset, so they must not
	// keep the search going: paid is where it last found something else.
	paid, next := from, from
	for i := from; i < end; {
		if i < next {
			// Not to be searched: only the repeated offsets count.
			if i = f.skip(plane, i, min(next, end), anchor); i >= end {
				break
			}
			if i >= f.next+missMax {
				f.next = i - 1 // what is not searched is not looked for either
			}
		}
		best := f.repeat(plane, from, to, i+1, candidate{})
		if i >= next {
			gain := best.gain
			best = f.search(plane, from, to, i, depth, best)
			if best.gain > gain && best.off > 1 {
				paid = i
			}
			next = i + 1 + min((i-paid)>>e.patience, missMax)
		}
		if best.gain <= 0 {
			i += 1 + (i-anchor)>>8
			continue
		}
		for j, last := i+1, i+lazy; j <= last && j < end; j++ {
			gain := best.gain
			best = f.repeat(plane, from, to, j, best)
			best = f.search(plane, from, to, j, depth, best)
			if best.gain > gain {
				last = j + lazy
			}
		}
		at, n, off := best.at, best.n, best.off
		if off != f.rep[0] && off != f.rep[1] {
			for at > anchor && at-off > 0 && plane[at-1] == plane[at-off-1] {
				at--
				n++
			}
		}
		f.lits = append(f.lits, plane[anchor:at]...)
		f.emit(at-anchor, n, off)
		anchor = f.follow(plane, from, at+n, end, to)
		i = anchor
	}
	if to < len(plane) {
		f.insert(plane, min(to, len(plane)-planeMinMatch)) // for the next block of the plane
	}
	f.lits = append(f.lits, plane[anchor:to]...)
}

// follow adds matches that begin where the last one ended, with the offset before
// it, which is then as cheap as the last one. It returns where they end.
func (f *planeFinder) follow(plane []byte, from, at, end, to int) int {
	for at < end && f.rep[1] > 0 {
		j := at - f.rep[1]
		if j < 0 || (binary.LittleEndian.Uint32(plane[j:])^binary.LittleEndian.Uint32(plane[at:]))<<8 != 0 {
			break
		}
		n := planeMinRepeat + lz4Count(plane, at+planeMinRepeat, j+planeMinRepeat, to)
		if int(f.cum[at-from+n]-f.cum[at-from]) < repCost {
			break
		}
		f.sequence(0, n, f.rep[1])
		at += n
	}
	return at
}

// codes of lengths (RFC 8878, 3.1.1.3.2.1.1).
var (
	llBase = [36]uint32{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 18, 20, 22, 24, 28, 32, 40, 48, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536}
	llBits = [36]uint8{16: 1, 1, 1, 1, 2, 2, 3, 3, 4, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}
	mlBase = [53]uint32{3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 37, 39, 41, 43, 47, 51, 59, 67, 83, 99, 131, 259, 515, 1027, 2051, 4099, 8195, 16387, 32771, 65539}
	mlBits = [53]uint8{32: 1, 1, 1, 1, 2, 2, 3, 3, 4, 4, 5, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}
)

// llCodes and mlCodes give the code of a short length; long ones have a code
// for each power of two.
var llCodes, mlCodes = lengthCodes(llBase[:], 64), lengthCodes(mlBase[:], 131)

func lengthCodes(base []uint32, n int) []uint8 {
	codes := make([]uint8, n)
	c := 0
	for v := range n {
		for c+1 < len(base) && base[c+1] <= uint32(v) {
			c++
		}
		codes[v] = uint8(c)
	}
	return codes
}

func llCode(v uint32) uint8 {
	if v < uint32(len(llCodes)) {
		return llCodes[v]
	}
	return uint8(bits.Len32(v) - 1 + 19)
}

func mlCode(v uint32) uint8 {
	if v < uint32(len(mlCodes)) {
		return mlCodes[v]
	}
	return uint8(bits.Len32(v-3) - 1 + 36)
}
