package lorenz

import "github.com/cdfz-format/cdfz/lorenz/internal/predict"

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
