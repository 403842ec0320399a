package text

import (
	"cmp"
	"maps"
	"math"
	"math/bits"
	"slices"

	"github.com/cdfz-format/cdfz/lorenz/internal/kernels"
)

// token is a repeat of n bytes at a place.
type token struct{ at, n, dist int }

// parser divides a block into literals and repeats by their costs.
type parser struct {
	src    []byte
	row    int
	tokens []token // the result

	kind    int // of contexts
	cluster *[256]uint8
	literal *[maxClusters][256]int32
	runs    numberCosts
	lens    numberCosts
	dist    numberCosts

	usualCluster [256]uint8
	usualLiteral [maxClusters][256]int32

	head []int32
	prev []int32

	// The cheapest way to each place of a segment, by the places from its start.
	costs  []int32
	steps  []step
	states []state // of the places up to the one that is expanded
}

// step is the last step of the way to a place: a literal, or a repeat of n bytes.
type step struct {
	n    uint8 // 0 for a literal
	code uint8 // of the distance, at most recent, since larger ones change the state in the same way
	dist int32
}

// state is what the cost of the next step depends on.
type state struct {
	run  int32 // literals since the last repeat
	last recents
}

// after returns the state after a step.
func (s state) after(t step) state {
	if t.n == 0 {
		s.run++
		return s
	}
	s.run = 0
	s.last.use(uint64(t.code), uint64(t.dist))
	return s
}

const (
	hashBits = 15
	hashLen  = 3
	depth    = 24
	nice     = 128 // bytes of a repeat that is taken at once
	segment  = 1 << 15
)

// Promising reports whether many bytes in the middle of a block repeat earlier ones there.
func Promising(src []byte) bool {
	const most = 8192
	if len(src) > most {
		src = src[(len(src)-most)/2:][:most]
	}
	return 2*Repeated(src) > len(src)
}

// Repeated returns about how many bytes start runs of six bytes that were there before.
func Repeated(src []byte) (n int) {
	const run = 6
	var seen [4096]uint16
	for i := 0; i+run <= len(src); i++ {
		h := uint64(src[i]) | uint64(src[i+1])<<8 | uint64(src[i+2])<<16 | uint64(src[i+3])<<24 | uint64(src[i+4])<<32 | uint64(src[i+5])<<40
		h *= 0x9E3779B97F4A7C15
		slot := &seen[h>>52]
		if *slot == uint16(h>>32)|1 {
			n++
		}
		*slot = uint16(h>>32) | 1
	}
	return n
}

// reset prepares the parser for a block, with costs that suit most.
func (p *parser) reset(src []byte, row int) {
	p.src, p.row = src, row
	var all histogram
	for _, b := range src {
		all.add(b)
	}
	for b, n := range all.n {
		p.usualLiteral[0][b] = log2(len(src)+8) - log2(int(n)+1)
	}
	p.kind, p.cluster, p.literal = contextNone, &p.usualCluster, &p.usualLiteral
	for v := range 256 {
		n := bits.Len(uint(v))
		if v >= 192 {
			n = v - 184
		}
		p.runs[v], p.lens[v] = int32(n+1)<<costFrac, int32(2*n+2)<<costFrac
		switch {
		case v < recent:
			p.dist[v] = int32(v+2) << costFrac
		case v < recent+rows:
			p.dist[v] = 7 << costFrac
		default:
			p.dist[v] = int32(n+4) << costFrac
		}
	}
}

// fit sets the costs to those that fit the tokens and the clusters of literals.
func (p *parser) fit(g *groups) {
	var runs, lens, dist numberFreq
	last := newRecents(p.row)
	at := 0
	for _, t := range p.tokens {
		code := last.code(t.dist, p.row)
		last.use(code, uint64(t.dist))
		runs.add(uint64(t.at - at))
		lens.add(uint64(t.n - minRepeat))
		dist.add(code)
		at = t.at + t.n
	}
	p.runs, p.lens, p.dist = runs.costs(), lens.costs(), dist.costs()
	p.kind, p.cluster, p.literal = g.kind, &g.cluster, &g.costs
}

// commonRow returns the row for which most repeats are from a number of rows before.
func (p *parser) commonRow() int {
	count := map[int]int{}
	for _, t := range p.tokens {
		count[t.dist]++
	}
	saved := func(row int) (sum int) {
		for d, n := range count {
			if d%row == 0 && d/row <= rows {
				sum += n * max(0, bits.Len(uint(d))-4)
			}
		}
		return sum
	}
	often := slices.SortedFunc(maps.Keys(count), func(a, b int) int {
		return cmp.Or(count[b]-count[a], a-b)
	})
	row, most := p.row, saved(p.row)
	for _, d := range often[:min(32, len(often))] {
		if s := saved(d); s > most {
			row, most = d, s
		}
	}
	return row
}

// parse finds the cheapest tokens. Long blocks are divided into segments.
func (p *parser) parse() {
	p.tokens = p.tokens[:0]
	p.head = grow(p.head, 1<<hashBits)
	p.prev = grow(p.prev, len(p.src))
	for i := range p.head {
		p.head[i] = -1
	}
	start := state{last: newRecents(p.row)}
	for at := 0; at < len(p.src); {
		at = p.segment(&start, at, min(at+segment, len(p.src)))
	}
}

// segment parses the bytes from at to end, or to the end of a long repeat, and returns
// where it stopped. start is the state before it, and is set to that after it.
func (p *parser) segment(start *state, at, end int) int {
	n := end - at + 1
	p.costs, p.steps, p.states = grow(p.costs, n), grow(p.steps, n), grow(p.states, n)
	for i := range p.costs {
		p.costs[i] = math.MaxInt32
	}
	p.costs[0], p.states[0] = 0, *start
	var long token
	for i := at; i < end; i++ {
		if long = p.expand(i, at, end); long.n > 0 {
			end = i
			break
		}
		p.arrive(i + 1 - at)
	}
	first := len(p.tokens)
	*start = p.states[end-at]
	for k := end - at; k > 0; {
		n := int(p.steps[k].n)
		if n > 0 {
			p.tokens = append(p.tokens, token{at + k - n, n, int(p.steps[k].dist)})
		}
		k -= max(n, 1)
	}
	slices.Reverse(p.tokens[first:])
	if long.n > 0 {
		p.tokens = append(p.tokens, long)
		start.last.use(start.last.code(long.dist, p.row), uint64(long.dist))
		start.run = 0
		for i := long.at + 1; i < long.at+long.n; i++ {
			p.enter(i)
		}
	}
	return end + long.n
}

// arrive sets the state of place k of a segment. All places before it have been expanded, so no
// cheaper step to it follows.
func (p *parser) arrive(k int) {
	t := p.steps[k]
	p.states[k] = p.states[k-max(int(t.n), 1)].after(t)
}

// expand continues from place i by a literal and by the repeats there. If one of these is
// long, expand returns it. The places of the segment begin with at and end with end.
func (p *parser) expand(i, at, end int) (long token) {
	x, base := &p.states[i-at], p.costs[i-at]
	costs, steps := p.costs[i-at:end-at+1], p.steps[i-at:end-at+1]
	c := p.cluster[context(p.src, i, p.kind, p.row, x.last[0])]
	if cost := base + p.literal[c][p.src[i]]; cost < costs[1] {
		costs[1], steps[1] = cost, step{}
	}
	base += p.runs.of(uint64(x.run))
	// Repeats that may be reached this way are shorter than nice, so their costs are in a table.
	reach := func(dist, from, to int, code uint64) {
		base := base + p.dist.of(code)
		s := step{code: uint8(min(code, recent)), dist: int32(dist)}
		to = min(to, end-i)
		if to < from {
			return
		}
		costs, steps := costs[from:to+1], steps[from:to+1]
		for k, l := range p.lens[from-minRepeat:][:len(costs)] {
			if cost := base + l; cost < costs[k] {
				s.n = uint8(from + k)
				costs[k], steps[k] = cost, s
			}
		}
	}
	for code, d := range x.last {
		if d > uint64(i) {
			continue
		}
		n := p.match(i, int(d))
		if n >= nice {
			long = token{i, n, int(d)}
			break
		}
		reach(int(d), minRepeat, n, uint64(code))
	}
	longest := minRepeat
	q := p.enter(i)
	for k := 0; k < depth && q >= 0 && long.n == 0 && i+longest < len(p.src); k, q = k+1, p.prev[q] {
		if p.src[int(q)+longest] != p.src[i+longest] { // the repeat is not longer, at most places
			continue
		}
		d := i - int(q)
		if n := p.match(i, d); n >= nice {
			long = token{i, n, d}
		} else if n > longest {
			reach(d, longest+1, n, x.last.code(d, p.row))
			longest = n
		}
	}
	return long
}

// enter adds a place to those found by their first bytes, and returns the one before
// with these, or -1.
func (p *parser) enter(i int) int32 {
	if i+hashLen > len(p.src) {
		return -1
	}
	s := p.src[i : i+hashLen]
	h := (uint32(s[0]) | uint32(s[1])<<8 | uint32(s[2])<<16) * 0x9E3779B1 >> (32 - hashBits)
	q := p.head[h]
	p.prev[i], p.head[h] = q, int32(i)
	return q
}

// match returns the length of the repeat from a distance.
func (p *parser) match(i, dist int) int { return kernels.CommonPrefix(p.src[i-dist:], p.src[i:]) }

func grow[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}
