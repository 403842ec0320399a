package lorenz

import (
	"cmp"
	"math"
	"math/bits"
	"slices"

	"github.com/cdfz-format/cdfz/lorenz/internal/entropy"
	"github.com/cdfz-format/cdfz/lorenz/internal/kernels"
	"github.com/cdfz-format/cdfz/lorenz/internal/masks"
	"github.com/cdfz-format/cdfz/lorenz/internal/predict"
)

// prober estimates the cost of residuals from a sample of groups.
type prober[T lane] struct {
	l      predict.Layout
	y      []T // lanes, masked ones filled
	bits   []T // bits of floats, if float predictors are possible
	at     []int32
	use    []uint32 // unmasked elements of each group
	weight float64  // elements for each sampled one
	chain  predict.Expansion
	all    []guess
	dims   []int               // the shape that candidates are for
	cached []predict.Predictor // candidates for dims
}

// sample chooses one group in step. m marks the masked elements.
func (p *prober[T]) sample(step int, m *masks.Mask) {
	p.at, p.use = p.at[:0], p.use[:0]
	n := len(p.y)
	total, seen := m.Rank(n), 0
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
		use &= m.Unmasked(at)
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
func (p *prober[T]) chainCost(chain []int, l predict.Layout) float64 {
	p.chain.Set(chain, l)
	var r [entropy.GroupLen]T
	sum := 0
	for g, at := range p.at {
		predict.GroupResiduals(&p.chain, &r, p.y, int(at))
		sum += groupCost(&r, p.use[g])
	}
	return float64(sum) / (1 << entropy.LogFrac) * p.weight
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
func (p *prober[T]) floatCost(f predict.Float, l predict.Layout) float64 {
	var r [entropy.GroupLen]T
	sum := 0
	for g, at := range p.at {
		k := min(entropy.GroupLen, len(p.y)-int(at))
		predict.FloatResiduals(r[:k], p.bits, l, f, int(at))
		sum += groupCost(&r, p.use[g])
	}
	return float64(sum) / (1 << entropy.LogFrac) * p.weight
}

// guess is a predictor with its estimated bits.
type guess struct {
	predict.Predictor
	cost float64
}

// best returns the predictor with the lowest estimate: the best on a small
// sample, and of these the best on a larger one.
func (p *prober[T]) best(s *shape) (predict.Predictor, float64) {
	all := p.all[:0]
	for _, c := range p.candidates(s) {
		all = append(all, guess{Predictor: c})
	}
	p.all = all
	p.sample(p.step(s.search.first), &s.mask)
	for i := range all {
		if !all[i].IsFloat() || p.bits != nil {
			all[i].cost = p.cost(all[i].Predictor, all[i].Layout(p.l.N))
		} else {
			all[i].cost = math.Inf(1)
		}
	}
	slices.SortStableFunc(all, func(a, b guess) int { return cmp.Compare(a.cost, b.cost) })
	if p.step(s.search.first) == 1 {
		return all[0].Predictor, all[0].cost
	}
	p.sample(p.step(s.search.last), &s.mask)
	all = all[:min(s.search.finalists, len(all))]
	b := 0
	for i := range all {
		all[i].cost = p.cost(all[i].Predictor, all[i].Layout(p.l.N))
		if all[i].cost < all[b].cost {
			b = i
		}
	}
	return all[b].Predictor, all[b].cost
}

// candidates returns the predictors for a shape. They are cached for blocks of the same shape.
func (p *prober[T]) candidates(s *shape) []predict.Predictor {
	if p.cached != nil && slices.Equal(p.dims, s.dims) {
		return p.cached
	}
	p.dims, p.cached = append(p.dims[:0], s.dims...), p.cached[:0]
	for _, c := range chains(s.dims, s.n) {
		p.cached = append(p.cached, predict.Predictor{Chain: c})
	}
	for _, f := range floatPredictors(s.dims) {
		p.cached = append(p.cached, predict.Predictor{Float: f})
	}
	return p.cached
}

// cost returns the estimated bits of the residuals of a predictor.
func (p *prober[T]) cost(x predict.Predictor, l predict.Layout) float64 {
	if x.IsFloat() {
		return p.floatCost(x.Float, l)
	}
	return p.chainCost(x.Chain, l)
}

// step returns the step that samples about n groups.
func (p *prober[T]) step(n int) int {
	return max(1, (len(p.y)+entropy.GroupLen-1)/entropy.GroupLen/n)
}

// chains returns the chains to try for a shape.
func chains(dims []int, n int) [][]int {
	s := strides(dims)
	s = s[:min(len(s), predict.MaxChain)]
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
func floatPredictors(dims []int) []predict.Float {
	s := strides(dims)
	switch {
	case len(s) == 0:
		return nil
	case len(s) == 1:
		return []predict.Float{{Kind: predict.WW, Row: dims[len(dims)-1]}}
	}
	f := []predict.Float{{Kind: predict.WN, Row: s[1]}}
	if len(s) > 2 {
		f = append(f, predict.Float{Kind: predict.WW, Row: s[1]})
		for _, k := range []int{predict.WP, predict.NP, predict.WNP} {
			f = append(f, predict.Float{Kind: k, Row: s[1], Plane: s[2]})
		}
	}
	return f
}
