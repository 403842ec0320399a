//go:build !purego

package kernels

func classesFast(mags []float32, marks []uint16, line []uint32, starts *[16]int, n int) bool {
	if !haveFast {
		return false
	}
	n = (n + 7) &^ 7
	_, _, _ = mags[16*n-1], marks[16*n-1], line[starts[15]+n-1]
	for j := 0; j < n; j += 8 {
		classesAVX2(&mags[16*j], &marks[16*j], &line[j], starts)
	}
	return true
}

func coverFast(mags []float32, marks, active []uint16, before []float32) bool {
	n := len(active) / 16
	if !haveFast || n == 0 {
		return false
	}
	_, _, _ = mags[16*n-1], marks[16*n-1], before[15]
	coverAVX2(&mags[0], &marks[0], &active[0], &before[0], n)
	return true
}

func expectationsFast(dst []uint16, sums, mags, north []float32, w, ww float32) bool {
	n := len(dst) / 16
	if !haveFast || n == 0 {
		return false
	}
	_, _, _ = sums[16*n-1], mags[16*n-1], north[15]
	expectationsAVX2(&dst[0], &sums[0], &mags[0], &north[0], w, ww, n)
	return true
}

func symbolsFast(y, marks []uint16, bounds *[15][16]int16, count int) bool {
	n := len(y) / 16
	if !haveFast || n == 0 {
		return false
	}
	_ = marks[16*n-1]
	symbolsAVX2(&y[0], &marks[0], bounds, count, n)
	return true
}

func sidesFast(dst, marks, north, below []uint16, factors *[4][16]uint16) bool {
	n := len(dst) / 16
	if !haveFast || n == 0 {
		return false
	}
	_, _, _ = marks[16*n-1], north[16*n+15], below[16*n-1]
	sidesAVX2(&dst[0], &marks[0], &north[16], &below[0], factors, n)
	return true
}

func dotFast(a, b []int16) (done int, sum int32) {
	k := whole(len(a), 16)
	if k == 0 {
		return 0, 0
	}
	_ = b[k-1]
	return k, dotAVX2(&a[0], &b[0], k)
}

func lowCountFast(r []uint32) (done, count int) {
	const most = 1 << 20 // residuals of which the kernel counts the bits at once
	for {
		k := whole(min(len(r)-done, most), 8)
		if k == 0 {
			return done, count
		}
		count += int(lowCountAVX2(&r[done], k))
		done += k
	}
}

func putLowFast(dst []byte, r []uint32, t uint, acc uint64, n uint) (to []byte, done int, rest uint64, left uint) {
	k := whole(len(r), 8)
	if k == 0 {
		return dst, 0, acc, n
	}
	free := dst[len(dst):cap(dst)]
	_ = free[4*k+7]
	size, rest, have := putLowAVX2(&free[0], &r[0], k, uint32(t), acc, uint64(n))
	return dst[:len(dst)+size], k, rest, uint(have)
}

func encodeFast(states *[16]uint32, symbols, sides []uint16, classes, signs []uint64, words []byte, end int) (start int, ok bool) {
	n := len(symbols) / 16
	if !haveFast || n == 0 {
		return end, false
	}
	_, _, _ = sides[16*n-1], classes[Certain], signs[len(signs)-1]
	_, _ = words[end-1], words[end-2*16*n-16]
	return encodeAVX2(states, &symbols[0], &sides[0], &classes[0], &signs[0], &pushes, &words[0], end, n), true
}

// pushes are for each set of eight states that shed a word, which these are, at the end.
var pushes = func() (t [256][8]byte) {
	for set := range t {
		at := 7
		for k := 7; k >= 0; k-- {
			if set>>k&1 != 0 {
				t[set][at] = byte(k)
				at--
			}
		}
	}
	return t
}()
