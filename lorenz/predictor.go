package lorenz

import "github.com/cdfz-format/cdfz/lorenz/internal/entropy"

// predictor is a chain or a float predictor.
type predictor struct {
	chain []int
	float floatPredictor // kind 0 for a chain
}

func (p predictor) isFloat() bool { return p.float.kind != 0 }

// layout returns the layout without cells.
func (p predictor) layout(n int) layout {
	if p.isFloat() {
		return p.float.layout(n)
	}
	return whole(n)
}

// append appends the predictor.
func (p predictor) append(dst []byte) []byte {
	if p.isFloat() {
		dst = entropy.AppendUvarint(append(dst, byte(p.float.kind)), uint64(p.float.row))
		if p.float.deep() {
			dst = entropy.AppendUvarint(dst, uint64(p.float.plane))
		}
		return dst
	}
	dst = append(dst, byte(len(p.chain)))
	for _, s := range p.chain {
		dst = entropy.AppendUvarint(dst, uint64(s))
	}
	return dst
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
