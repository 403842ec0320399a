package contexts

import "math"

// fit chooses weights: those with which classes of neighbours come closest to that of an element.
func (e *Encoder[T]) fit() {
	const most = 2 + mostTaps + 1
	taps := e.whole.taps()
	n := 2 + len(taps) + 1 // the last one is the constant
	var sums [most][most]int64
	var right [most]int64
	step := max(1, len(e.r)/e.sampled()) | 1
	e.first()
	s := e.shape
	// Where the elements of the sample are in their rows changes from row to row.
	for p := step / 2; p < len(e.r); p += step {
		for p >= e.base+s.N() {
			e.following()
			s = e.shape
			taps = s.taps()
		}
		g, c := (p-e.base)/s.row, (p-e.base)%s.row
		seg, longer := s.steps()
		if e.active != nil && !e.active[p] || e.inStripe(c, seg, longer) < 2 {
			continue
		}
		at := e.place(g, c)
		x := [most]int64{e.classAt(at - 1), e.classAt(at - 2)}
		for i, t := range taps {
			x[2+i] = e.classAt(e.place(before(g, t.rows), c+t.col))
		}
		x[n-1] = 1
		y := int64(e.class[p])
		for i, v := range x[:n] {
			right[i] += v * y
			for k, u := range x[:i+1] {
				sums[i][k] += v * u
			}
		}
	}
	var a [most][most]float64
	for i := range n {
		for k := range i + 1 {
			a[i][k], a[k][i] = float64(sums[i][k]), float64(sums[i][k])
		}
		if i < n-1 {
			a[i][i] += float64((a[i][i] + 1) * 1e-3)
		}
		a[i][i] += 1e-9
	}
	// Each weight in turn is set to its best value, given the others. Conversions keep products from being fused.
	var w [most]float64
	for range 100 {
		for i := range n {
			t := float64(right[i])
			for k := range n {
				if k != i {
					t -= float64(a[i][k] * w[k])
				}
			}
			w[i] = t / a[i][i]
			if i < n-1 {
				w[i] = max(0, w[i])
			}
		}
	}
	whole := func(v float64) uint8 { return uint8(min(float64(v*16)+0.5, 255)) }
	m := &e.model.weights
	m.w, m.ww = whole(w[0]), whole(w[1])
	for i := range taps {
		m.taps[i] = whole(w[2+i])
	}
}

// inStripe returns how many elements of its stripe are before column c.
func (e *Encoder[T]) inStripe(c, seg, longer int) int {
	if long := longer * (seg + 1); c >= long {
		return (c - long) % seg
	}
	return c % (seg + 1)
}

// classAt returns the class whose magnitude is at a place.
func (e *Encoder[T]) classAt(place int) int64 {
	if m := e.mags[place]; m > 0 {
		return int64(math.Float32bits(m)>>22) - 254
	}
	return 0
}
