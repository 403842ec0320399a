package text

import (
	"cmp"
	"math"
	"slices"
)

// groups divides contexts into clusters. Each cluster has a code.
type groups struct {
	kind    int
	n       int // clusters
	cluster [256]uint8
	costs   [maxClusters][256]int32 // of literals
	seen    [256]*histogram
	used    []uint8 // contexts of the block, in the order of the first bytes
	merged  [maxClusters]histogram
}

// histogram counts bytes. Few of them occur in most contexts.
type histogram struct {
	total int
	sum   int64 // of n × log2(n)
	n     [256]int32
	bytes []byte // that occur
}

func (h *histogram) reset() {
	for _, b := range h.bytes {
		h.n[b] = 0
	}
	h.total, h.sum, h.bytes = 0, 0, h.bytes[:0]
}

// add counts a byte. It leaves sum to finish.
func (h *histogram) add(b byte) {
	if h.n[b] == 0 {
		h.bytes = append(h.bytes, b)
	}
	h.n[b]++
	h.total++
}

func (h *histogram) finish() {
	h.sum = 0
	for _, b := range h.bytes {
		h.sum += weighted(h.n[b])
	}
}

func weighted(n int32) int64 {
	if n < 2 {
		return 0
	}
	return int64(n) * int64(log2(int(n)))
}

// joint returns total, distinct and sum of h and x together.
func (h *histogram) joint(x *histogram) (total, distinct int, sum int64) {
	total, distinct, sum = h.total+x.total, len(h.bytes), h.sum
	for _, b := range x.bytes {
		if h.n[b] == 0 {
			distinct++
		}
		sum += weighted(h.n[b]+x.n[b]) - weighted(h.n[b])
	}
	return total, distinct, sum
}

func (h *histogram) merge(x *histogram) {
	h.total, _, h.sum = h.joint(x)
	for _, b := range x.bytes {
		if h.n[b] == 0 {
			h.bytes = append(h.bytes, b)
		}
		h.n[b] += x.n[b]
	}
}

// headCost is the cost of a stream and that of each symbol in its code.
const headCost, symbolCost = 40 << costFrac, 5 << costFrac

// codeCost estimates the cost of a stream of bytes with a code that fits.
func codeCost(total, distinct int, sum int64) int64 {
	if total == 0 {
		return 0
	}
	cost := int64(total)*int64(log2(total)) - sum
	if distinct > 1 { // a code word has at least one bit
		cost = max(cost, int64(total)<<costFrac)
	}
	return cost + headCost + int64(distinct)*symbolCost
}

func (h *histogram) cost() int64 { return codeCost(h.total, len(h.bytes), h.sum) }

// choose sets the kind of context and the clusters to those with the shortest literals
// outside of repeats.
func (g *groups) choose(src []byte, tokens []token, row int) {
	best, kind := int64(0), -1
	for k := range nContexts {
		if _, ok := contextsOf(k, row); !ok {
			continue
		}
		if c := g.divide(src, tokens, row, k); kind < 0 || c < best-best/100 {
			best, kind = c, k
		}
	}
	g.divide(src, tokens, row, kind)
}

// price sets the costs of literals to those that fit the clusters.
func (g *groups) price() {
	for k := range g.n {
		h := &g.merged[k]
		for b, n := range h.n {
			g.costs[k][b] = min(log2(8*h.total+64)-log2(8*int(n)+1), 11<<costFrac)
		}
	}
}

// divide sets the clusters for a kind of context, and returns the cost of the literals.
func (g *groups) divide(src []byte, tokens []token, row, kind int) int64 {
	g.kind, g.n = kind, 0
	for _, c := range g.used {
		g.seen[c].reset()
	}
	g.used = g.used[:0]
	at, last := 0, uint64(1)
	count := func(end int) {
		for ; at < end; at++ {
			c := context(src, at, kind, row, last)
			if g.seen[c] == nil {
				g.seen[c] = new(histogram)
			}
			if g.seen[c].total == 0 {
				g.used = append(g.used, uint8(c))
			}
			g.seen[c].add(src[at])
		}
	}
	for _, t := range tokens {
		count(t.at)
		at, last = at+t.n, uint64(t.dist)
	}
	count(len(src))
	for _, c := range g.used {
		g.seen[c].finish()
	}
	clear(g.cluster[:])
	cost := int64(0)
	if kind != contextNone {
		cost = 128 << costFrac
	}
	// The most frequent contexts first: each joins a cluster or starts one.
	slices.SortFunc(g.used, func(a, b uint8) int {
		return cmp.Or(g.seen[b].total-g.seen[a].total, int(a)-int(b))
	})
	for _, most := range g.used {
		h := g.seen[most]
		best, to := h.cost(), g.n
		if g.n == maxClusters {
			best = math.MaxInt64
		}
		for k := range g.n {
			if c := codeCost(g.merged[k].joint(h)) - g.merged[k].cost(); c < best {
				best, to = c, k
			}
		}
		if to == g.n {
			g.merged[to].reset()
			g.n++
		}
		g.merged[to].merge(h)
		g.cluster[most] = uint8(to)
		cost += best
	}
	if g.n == 0 {
		g.n = 1
		g.merged[0].reset()
	}
	return cost
}
