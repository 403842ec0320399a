package text

import "math"

// groups divides contexts into clusters. Each cluster has a code.
type groups struct {
	kind    int
	n       int // clusters
	cluster [256]uint8
	costs   [maxClusters][256]int32 // of literals
	seen    [256]*histogram
	merged  [maxClusters]histogram
}

// histogram counts bytes.
type histogram struct {
	total, distinct int
	sum             int64 // of n × log2(n)
	n               [256]int32
}

// add counts a byte. It leaves sum to finish.
func (h *histogram) add(b byte) {
	if h.n[b] == 0 {
		h.distinct++
	}
	h.n[b]++
	h.total++
}

func (h *histogram) finish() {
	h.sum = 0
	for _, n := range h.n {
		h.sum += weighted(n)
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
	total, distinct, sum = h.total+x.total, h.distinct, h.sum
	for b, n := range x.n {
		if n > 0 {
			if h.n[b] == 0 {
				distinct++
			}
			sum += weighted(h.n[b]+n) - weighted(h.n[b])
		}
	}
	return total, distinct, sum
}

func (h *histogram) merge(x *histogram) {
	h.total, h.distinct, h.sum = h.joint(x)
	for b, n := range x.n {
		h.n[b] += n
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

func (h *histogram) cost() int64 { return codeCost(h.total, h.distinct, h.sum) }

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
	for i := range g.seen {
		if g.seen[i] != nil {
			*g.seen[i] = histogram{}
		}
	}
	at, last := 0, uint64(1)
	count := func(end int) {
		for ; at < end; at++ {
			c := context(src, at, kind, row, last)
			if g.seen[c] == nil {
				g.seen[c] = new(histogram)
			}
			g.seen[c].add(src[at])
		}
	}
	for _, t := range tokens {
		count(t.at)
		at, last = at+t.n, uint64(t.dist)
	}
	count(len(src))
	for _, h := range g.seen {
		if h != nil {
			h.finish()
		}
	}
	clear(g.cluster[:])
	cost := int64(0)
	if kind != contextNone {
		cost = 128 << costFrac
	}
	// The most frequent contexts first: each joins a cluster or starts one.
	for range g.seen {
		most := -1
		for i, h := range g.seen {
			if h != nil && h.total > 0 && (most < 0 || h.total > g.seen[most].total) {
				most = i
			}
		}
		if most < 0 {
			break
		}
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
			g.merged[to] = histogram{}
			g.n++
		}
		g.merged[to].merge(h)
		g.cluster[most] = uint8(to)
		cost += best
		h.total = 0
	}
	if g.n == 0 {
		g.n, g.merged[0] = 1, histogram{}
	}
	return cost
}
