//go:build !purego

package kernels

func stepsFast(dst, a []float32) int {
	k := whole(len(dst), 8)
	if k > 0 {
		_ = a[k]
		stepsAVX2(&dst[0], &a[0], k)
	}
	return k
}

func cornersFast(dst, a, b, c []float32) int {
	k := whole(len(dst), 8)
	if k > 0 {
		_, _, _ = a[k], b[k], c[k]
		cornersAVX2(&dst[0], &a[0], &b[0], &c[0], k)
	}
	return k
}

func acrossFast(dst, a, b, c []float32) int {
	k := whole(len(dst), 8)
	if k > 0 {
		_, _, _ = a[k-1], b[k-1], c[k-1]
		acrossAVX2(&dst[0], &a[0], &b[0], &c[0], k)
	}
	return k
}

func deviationsFast(r, x []uint32, p []float32) int {
	k := whole(len(r), 8)
	if k > 0 {
		_, _ = x[k-1], p[k-1]
		deviationsAVX2(&r[0], &x[0], &p[0], k)
	}
	return k
}

func deviateFast(y []uint32, p []float32) int {
	k := whole(len(y), 8)
	if k > 0 {
		_ = p[k-1]
		deviateAVX2(&y[0], &p[0], k)
	}
	return k
}

// followFast follows the first elements of all rows, a multiple of 8, and returns how many.
func followFast(rows [][]uint32, sums [][]float32) int {
	y, k := eight(rows)
	if k == 0 {
		return 0
	}
	var s [8]*float32
	for i := range s {
		j := min(i, len(rows)-1)
		_ = sums[j][k-1]
		s[i] = &sums[j][0]
	}
	followAVX2(&y, &s, k)
	return k
}

// waveFast is Wave for n elements, a multiple of 8, of the first row from at on, and as many of the others, each an element behind.
func waveFast(y []uint32, at, row, past, n int) {
	behind := func(at int) (p [8]*uint32, north *uint32) {
		for k := range p {
			p[k] = &y[at+k*(row-1):][:n][0]
		}
		return p, &y[at-row:][:n][0]
	}
	_ = y[at-row-8]
	rows, north := behind(at)
	if past == 0 {
		waveAVX2(&rows, north, &rows, north, n)
		return
	}
	_ = y[at-past-row-8]
	before, pastNorth := behind(at - past)
	waveDeepAVX2(&rows, north, &before, pastNorth, n)
}

// extendFast is followFast for Extend.
func extendFast(rows [][]uint32) int {
	y, k := eight(rows)
	if k > 0 {
		extendAVX2(&y, k)
	}
	return k
}

// eight returns the starts of rows, the last one several times: its results are the same. k is
// the largest multiple of 8 that no row is shorter than, 0 if there is no assembly for them.
func eight(rows [][]uint32) (y [8]*uint32, k int) {
	if !haveFast || len(rows) < 2 || len(rows) > len(y) {
		return y, 0
	}
	n := len(rows[0])
	for _, y := range rows[1:] {
		n = min(n, len(y))
	}
	if k = whole(n, 8); k == 0 {
		return y, 0
	}
	for i := range y {
		y[i] = &rows[min(i, len(rows)-1)][0]
	}
	return y, k
}
