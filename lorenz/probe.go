package lorenz

import (
	"cmp"
	"math"
	"math/bits"
	"slices"

	"github.com/cdfz-format/cdfz/lorenz/internal/entropy"
	"github.com/cdfz-format/cdfz/lorenz/internal/kernels"
)

// predictor is a chain or a float predictor.
type predictor struct {
	chain []int
	float floatPredictor // kind 0 for a chain
}

func (p predictor) isFloat() bool { return p.float.kind != 0 }

// prober estimates the cost of residuals from a sample of groups.
type prober[T lane] struct {
	l      layout
	y      []T // lanes, masked ones filled
	bits   []T // bits of floats, if float predictors are possible
	at     []int32
	use    []uint32 // unmasked elements of each group
	weight float64  // elements for each sampled one
	typ    Type
	terms  []term
	plus   []int // offsets of terms
	minus  []int
	all    []guess
	dims   []int       // of known
	known  []predictor // candidates
}

// sample chooses one group in step. masked tells which elements are masked.
func (p *prober[T]) sample(step int, m *mask) {
	p.at, p.use = p.at[:0], p.use[:0]
	n := len(p.y)
	total, seen, first := m.rank(n), 0, 0
	for i, g := 0, 0; i < n; i, g = i+step*entropy.GroupLen, g+1 {
		at := i
		if step > 1 { // not in phase with rows
			at = min(i+(g*7%step)*entropy.GroupLen, max(0, n-entropy.GroupLen))
		}
		end := min(at+entropy.GroupLen, n)
		use := uint32(1)<<(end-at) - 1
		if end-at == entropy.GroupLen {
			use = ^uint32(0)
		}
		for first > 0 && int(m.runs[first-1].end) > at {
			first--
		}
		for first < len(m.runs) && int(m.runs[first].end) <= at {
			first++
		}
		for r := first; r < len(m.runs) && int(m.runs[r].start) < end; r++ {
			for e := max(int(m.runs[r].start), at); e < min(int(m.runs[r].end), end); e++ {
				use &^= 1 << (e - at)
			}
		}
		if use == 0 {
			continue
		}
		p.at, p.use = append(p.at, int32(at)), append(p.use, use)
		seen += bits.OnesCount32(use)
	}
	p.weight = 0
	if seen > 0 {
		p.weight = float64(total) / float64(seen)
	}
}

// chainCost returns the estimated bits of the residuals of a chain.
func (p *prober[T]) chainCost(chain []int, l layout) float64 {
	p.terms = l.terms(p.terms[:0], chain)
	terms := p.terms[1:]
	reach := 0
	p.plus, p.minus = p.plus[:0], p.minus[:0]
	for _, t := range terms {
		reach = max(reach, t.offset)
		if t.neg {
			p.minus = append(p.minus, t.offset)
		} else {
			p.plus = append(p.plus, t.offset)
		}
	}
	var r [entropy.GroupLen]T
	sum := 0
	for g, at := range p.at {
		i := int(at)
		if i >= reach && i+entropy.GroupLen <= len(p.y) && l.cell == l.n {
			difference(&r, p.y, i, p.plus, p.minus)
			sum += groupCost(&r, p.use[g])
			continue
		}
		k := copy(r[:], p.y[i:])
		in := i % l.plane % l.cell
		for _, t := range terms {
			j := max(0, t.offset-i, t.inCell-in)
			if j >= k {
				continue
			}
			from := p.y[i+j-t.offset : i+k-t.offset]
			to := r[j:k]
			to = to[:len(from)]
			if t.neg {
				for x, v := range from {
					to[x] -= v
				}
			} else {
				for x, v := range from {
					to[x] += v
				}
			}
		}
		sum += groupCost(&r, p.use[g])
	}
	return float64(sum) / (1 << entropy.LogFrac) * p.weight
}

// difference sets r to the residuals of the group at i. All neighbours exist.
func difference[T lane](r *[entropy.GroupLen]T, y []T, i int, plus, minus []int) {
	*r = [entropy.GroupLen]T(y[i:])
	if len(minus) == 0 {
		return
	}
	for k, p := range plus { // one less than minus
		a, b := (*[entropy.GroupLen]T)(y[i-p:]), (*[entropy.GroupLen]T)(y[i-minus[k]:])
		for j := range r {
			r[j] += a[j] - b[j]
		}
	}
	b := (*[entropy.GroupLen]T)(y[i-minus[len(plus)]:])
	for j := range r {
		r[j] -= b[j]
	}
}

// groupCost estimates the bits of the elements of a group in use, in units of
// 2^-entropy.LogFrac. It sets the others to 0.
func groupCost[T lane](r *[entropy.GroupLen]T, use uint32) int {
	if use != 1<<entropy.GroupLen-1 {
		for j := range r {
			r[j] &= -T(use >> j & 1)
		}
	}
	n := bits.OnesCount32(use)
	var or T
	var sum int
	if narrow, ok := any(r).(*[entropy.GroupLen]uint32); ok {
		x, logs := kernels.Logs(narrow)
		or, sum = T(x), int(logs)
	} else {
		for _, v := range r {
			or |= v
		}
		t := uint(bits.TrailingZeros64(uint64(or)))
		for _, v := range r {
			x := int64(v) >> (t & 63)
			sum += int(math.Float32bits(float32(4*float32(x^x>>63))+1)) >> (23 - entropy.LogFrac)
		}
	}
	if or == 0 {
		return n << entropy.LogFrac / 64
	}
	sum -= entropy.GroupLen * (127 << entropy.LogFrac) // each logarithm is 127 too large
	const extra, least = 922, 154
	return max(sum+n*extra, n*least) + n*(3<<entropy.LogFrac)/entropy.GroupLen
}

// floatCost returns the estimated bits of the residuals of a float predictor.
func (p *prober[T]) floatCost(f floatPredictor, l layout) float64 {
	var r [entropy.GroupLen]T
	sum := 0
	for g, at := range p.at {
		k := min(entropy.GroupLen, len(p.y)-int(at))
		floatResiduals(r[:k], p.bits, l, f, int(at))
		sum += groupCost(&r, p.use[g])
	}
	return float64(sum) / (1 << entropy.LogFrac) * p.weight
}

// strides returns the distances between neighbours in each dimension, smallest
// first, of the dimensions longer than 1.
func strides(dims []int) []int {
	var s []int
	at := 1
	for i := len(dims) - 1; i >= 0; i-- {
		if dims[i] > 1 {
			s = append(s, at)
			at *= dims[i]
		}
	}
	return s
}

// chains returns the chains to try for a shape.
func chains(dims []int, n int) [][]int {
	s := strides(dims)
	s = s[:min(len(s), maxChain)]
	c := [][]int{{}}
	for _, x := range s {
		for _, sub := range c[:len(c):len(c)] {
			c = append(c, append(sub[:len(sub):len(sub)], x))
		}
	}
	if n > 2 {
		c = append(c, []int{1, 1})
	}
	switch {
	case len(s) > 1:
		r := s[1]
		c = append(c, []int{1, 1, r}, []int{r, r}, []int{1, 1, r, r}, []int{1, r, r})
		if len(s) > 2 {
			c = append(c, []int{s[2], s[2]})
		}
	default:
		c = append(c, []int{1, 1, 1})
		for _, x := range []int{2, 3, 4, 6, 8, 12, 24} {
			c = append(c, []int{x}, []int{x, 1})
		}
	}
	k := 0
	for _, x := range c {
		ok := true
		sum := 0
		for _, y := range x {
			ok = ok && y < n
			sum += y
		}
		if ok && sum < n {
			c[k] = x
			k++
		}
	}
	return c[:k]
}

// floatPredictors returns the float predictors to try for a shape.
func floatPredictors(dims []int) []floatPredictor {
	s := strides(dims)
	switch {
	case len(s) == 0:
		return nil
	case len(s) == 1:
		return []floatPredictor{{floatWW, dims[len(dims)-1], 0}}
	}
	f := []floatPredictor{{floatWN, s[1], 0}, {floatWW, s[1], 0}}
	if len(s) > 2 {
		for _, k := range []int{floatWP, floatNP, floatWNP} {
			f = append(f, floatPredictor{k, s[1], s[2]})
		}
	} else {
		f[1] = floatPredictor{floatWN, s[1], 0}
		f = f[:1]
	}
	return f
}

// guess is a predictor with its estimated bits.
type guess struct {
	predictor
	cost float64
}

// best returns the predictor with the lowest estimate: the best on a small
// sample, and of these the best on a larger one.
func (p *prober[T]) best(s *shape) (predictor, float64) {
	few, many, finalists := 48, 160, 4
	if s.level == Fast {
		few, many, finalists = 24, 64, 2
	}
	all := p.all[:0]
	for _, c := range p.candidates(s) {
		all = append(all, guess{predictor: c})
	}
	p.all = all
	p.sample(p.step(few), &s.mask)
	for i := range all {
		if !all[i].isFloat() || p.bits != nil {
			all[i].cost = p.cost(all[i].predictor, all[i].layout(p.l.n))
		} else {
			all[i].cost = math.Inf(1)
		}
	}
	slices.SortStableFunc(all, func(a, b guess) int { return cmp.Compare(a.cost, b.cost) })
	if p.step(few) == 1 {
		return all[0].predictor, all[0].cost
	}
	p.sample(p.step(many), &s.mask)
	all = all[:min(finalists, len(all))]
	b := 0
	for i := range all {
		all[i].cost = p.cost(all[i].predictor, all[i].layout(p.l.n))
		if all[i].cost < all[b].cost {
			b = i
		}
	}
	return all[b].predictor, all[b].cost
}

// candidates returns the predictors for a shape. They are kept for the next block.
func (p *prober[T]) candidates(s *shape) []predictor {
	if p.known != nil && slices.Equal(p.dims, s.dims) {
		return p.known
	}
	p.dims, p.known = append(p.dims[:0], s.dims...), p.known[:0]
	for _, c := range chains(s.dims, s.n) {
		p.known = append(p.known, predictor{chain: c})
	}
	for _, f := range floatPredictors(s.dims) {
		p.known = append(p.known, predictor{float: f})
	}
	return p.known
}

// cost returns the estimated bits of the residuals of a predictor.
func (p *prober[T]) cost(x predictor, l layout) float64 {
	if x.isFloat() {
		return p.floatCost(x.float, l)
	}
	return p.chainCost(x.chain, l)
}

// cellLoss estimates the additional bits of the cells of a layout, compared with the
// layout without cells.
func (p *prober[T]) cellLoss(x predictor, l layout) float64 {
	reach := 1 // reach of the effect of a cell's start
	for _, s := range x.chain {
		if !l.crosses(s) {
			reach += s
		}
	}
	if x.isFloat() {
		reach = x.float.row
	}
	reach = min(reach, l.cell)
	p.at, p.use = p.at[:0], p.use[:0]
	affected := 0
	for q := 0; q < l.n; q += l.plane {
		for c := l.cell; c < l.plane; c += l.cell {
			affected += reach
			for i := 0; i < reach; i += max(entropy.GroupLen, reach/4) {
				if at := q + c + i; at+entropy.GroupLen <= l.n {
					p.at, p.use = append(p.at, int32(at)), append(p.use, ^uint32(0))
				}
			}
		}
	}
	if len(p.at) == 0 {
		return 0
	}
	p.weight = float64(affected) / float64(entropy.GroupLen*len(p.at))
	return p.cost(x, l) - p.cost(x, x.layout(l.n))
}

// step returns the step that samples about n groups.
func (p *prober[T]) step(n int) int {
	return max(1, (len(p.y)+entropy.GroupLen-1)/entropy.GroupLen/n)
}

// sampleLen is the number of elements in a sample.
const sampleLen = 2048

// sampleOf returns elements spread over v, all of them if there are few.
func sampleOf[T lane](dst, v []T) []T {
	dst = dst[:0]
	if len(v) <= sampleLen {
		return append(dst, v...)
	}
	// Steps of an odd fraction, so that the sample is not in phase with rows.
	for i := range sampleLen {
		at := (uint64(i)*2 + 1) * uint64(len(v)) / (2 * sampleLen)
		at ^= uint64(i) * 7 & 15
		dst = append(dst, v[min(at, uint64(len(v)-1))])
	}
	return dst
}

// frequent is a value and its frequency in a sample.
type frequent[T lane] struct {
	v T
	n int
}

// tally returns the most frequent values of a sample, at most max, and the number of
// different values. Equally frequent values are in the order of the sample.
func tally[T lane](s []T, max int, table *[2 * sampleLen]uint16) (top []frequent[T], distinct int) {
	clear(table[:])
	all := make([]frequent[T], 0, sampleLen)
	for _, v := range s {
		h := uint64(v) * 0x9E3779B97F4A7C15 >> (64 - 12)
		for table[h] != 0 && all[table[h]-1].v != v {
			h = (h + 1) % uint64(len(table))
		}
		if table[h] == 0 {
			all = append(all, frequent[T]{v, 0})
			table[h] = uint16(len(all))
		}
		all[table[h]-1].n++
	}
	for _, f := range all {
		at := len(top)
		for at > 0 && top[at-1].n < f.n {
			at--
		}
		if at < max {
			top = slices.Insert(top, at, f)
			top = top[:min(len(top), max)]
		}
	}
	return top, len(all)
}
