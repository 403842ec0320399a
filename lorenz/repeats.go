package lorenz

import (
	"math"

	"github.com/cdfz-format/cdfz/lorenz/internal/entropy"
	"github.com/cdfz-format/cdfz/lorenz/internal/predict"
	"github.com/cdfz-format/cdfz/lorenz/internal/repeats"
)

// repeatsMore is the part by which large fields with repeats are mostly longer than their estimate.
const repeatsMore = 3

// promiseRepeats estimates the bytes of the block with repeats if many residuals recur, without a
// predictor, with differences, or for integers with the chosen chain.
func (c *coder[T]) promiseRepeats(s *shape, raw []byte, x *candidate[T]) (int, func(dst []byte) []byte) {
	bits := x.cost / float64(s.mask.Rank(s.n)+1) // per value
	run := int(min(max(40/max(bits, 0.1), 1), 24))
	r := c.compact(&s.mask, x.y)
	type trial struct {
		pred   predict.Predictor
		share  float64
		chosen bool // it is the predictor of x, whose cost is known
	}
	var trials [3]trial
	n, share := 0, 0.0
	try := func(pred predict.Predictor, r []T, chosen bool) {
		k := min(repeats.Recurring(&c.find, r, run, s.repeats.few), 1)
		trials[n] = trial{pred, k, chosen}
		n++
		share = max(share, k)
	}
	try(predict.Predictor{}, r, false)
	c.diff[0] = entropy.Grow(c.diff[0], len(r))
	predict.Subtract(c.diff[0], r, 1)
	try(predict.Predictor{Chain: []int{1}}, c.diff[0], false)
	// The residuals of floats recur where the floats do.
	if l := x.pred.Layout(s.n); l == predict.Whole(s.n) && (len(x.pred.Chain) > 0 || x.pred.IsFloat()) &&
		(s.all || !s.typ.float() || share >= recursPlain) {
		try(x.pred, c.residuals(s, x, l), true)
	}
	if share < s.repeats.share {
		return 0, nil
	}
	p := &c.probe
	p.y, p.bits = x.y, nil
	p.sample(p.step(72), &s.mask)
	params := float64(8 * len(x.params))
	var best predict.Predictor
	top, rest := 0.0, math.Inf(1)
	for _, t := range trials[:n] {
		cost := x.cost - params
		if !t.chosen {
			cost = p.cost(t.pred, predict.Whole(s.n))
		}
		// Residuals that do not recur cost as much as with this predictor alone.
		left := (1 - t.share) * cost
		if s.typ.float() && left < rest || !s.typ.float() && t.share > top+recursMore {
			best, rest = t.pred, left
		}
		top = max(top, t.share)
	}
	if rest >= x.cost-params-s.repeats.cost*x.cost {
		return 0, nil
	}
	bytes, less := len(s.head)+int((rest+params)/8), 4
	switch {
	case s.largeField():
		bytes += bytes / repeatsMore
		less = 8
	case s.typ == Int16 && !s.all: // the median of what they take
		bytes += bytes * 2 / 5
		less = 3
	}
	return bytes, func(dst []byte) []byte {
		if !s.all && bytes-bytes/less >= s.limit(formRepeats) {
			return dst
		}
		other := *x
		other.pred = best
		return c.write(s, dst, raw, &other, predict.Whole(s.n), true)
	}
}
