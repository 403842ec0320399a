//go:build !purego

package kernels

import (
	"encoding/binary"
	"slices"
	"unsafe"

	"golang.org/x/sys/cpu"
)

// haveFast is a variable so that tests can switch it.
var haveFast = cpu.X86.HasAVX2 && cpu.X86.HasBMI2

// whole returns the largest multiple of step that is at most n, 0 without the
// assembly.
func whole(n, step int) int {
	if !haveFast {
		return 0
	}
	return n - n%step
}

func putFast(dst []byte, y []uint32) int {
	k := whole(len(y), 8)
	if k > 0 {
		_ = dst[4*k-1]
		putAVX2(&dst[0], &y[0], k)
	}
	return k
}

func loadFast(dst []uint32, src []byte) int {
	k := whole(len(dst), 8)
	if k > 0 {
		_ = src[4*k-1]
		loadAVX2(&dst[0], &src[0], k)
	}
	return k
}

func putOrderedFast(dst []byte, y []uint32) int {
	k := whole(len(y), 8)
	if k > 0 {
		_ = dst[4*k-1]
		putOrderedAVX2(&dst[0], &y[0], k)
	}
	return k
}

func orderFast(dst, u []uint32) int {
	k := whole(len(u), 8)
	if k > 0 {
		_ = dst[k-1]
		orderAVX2(&dst[0], &u[0], k)
	}
	return k
}

func prefixSumFast(y []uint32) int {
	k := whole(len(y), 8)
	if k > 0 {
		prefixSumAVX2(&y[0], k)
	}
	return k
}

func sumAddFast(to, from []uint32, sum uint32) int {
	k := whole(len(to), 8)
	if k > 0 {
		_ = from[k-1]
		sumAddAVX2(&to[0], &from[0], k, sum)
	}
	return k
}

func sumBytesFast(b []byte) (done int, most byte) {
	k := whole(len(b), 32)
	if k > 0 {
		most = sumBytesAVX2(&b[0], k)
	}
	return k, most
}

func tallyFast(b []byte) (count [7]int, over int) {
	const most = 255 * 32 // bytes that the kernel counts at once
	var above [7]uint64
	zeros := len(b)
	for len(b) >= 32 {
		k := min(len(b)&^31, most)
		tallyAVX2(&b[0], k, &above)
		b = b[k:]
	}
	if len(b) > 0 {
		var last [32]byte
		copy(last[:], b)
		tallyAVX2(&last[0], len(last), &above)
	}
	count[0] = zeros - int(above[0])
	for i := 1; i < 6; i++ {
		count[i] = int(above[i-1] - above[i])
	}
	count[6] = int(above[5])
	return count, int(above[6])
}

func addFast(to, from []uint32) int {
	k := whole(len(from), 8)
	if k > 0 {
		_ = to[k-1]
		addAVX2(&to[0], &from[0], k)
	}
	return k
}

func subtractFast(dst, a, b []uint32) int {
	k := whole(len(dst), 8)
	if k > 0 {
		_, _ = a[k-1], b[k-1]
		subtractAVX2(&dst[0], &a[0], &b[0], k)
	}
	return k
}

func putQuotientsFast(dst []byte, y []uint32, d float64) int {
	k := whole(len(y), 8)
	if k > 0 {
		_ = dst[4*k-1]
		single := float32(d)
		if float64(single) != d || d < 1 || d > 1<<64 { // quotients must not be subnormal
			single = 0
		}
		putQuotientsAVX2(&dst[0], &y[0], k, d, single)
	}
	return k
}

func putProductsFast(dst []byte, y []uint32, c float64) int {
	k := whole(len(y), 4)
	if k > 0 {
		_ = dst[4*k-1]
		putProductsAVX2(&dst[0], &y[0], k, c)
	}
	return k
}

func multiplesFast(k, y []uint32, c float64) int {
	n := whole(len(y), 8)
	if n == 0 || float64(float32(c)) != c {
		return 0
	}
	_ = k[n-1]
	return multiplesAVX2(&k[0], &y[0], n, float32(c)) // exact, except where it is not an integer either
}

func numeratorsFast(k, y []uint32, d float64) int {
	n, single := whole(len(y), 8), float32(d)
	if n == 0 || float64(single) != d || d < 1 || d > 1<<64 { // quotients must not be subnormal
		return 0
	}
	_ = k[n-1]
	return numeratorsAVX2(&k[0], &y[0], n, d, single)
}

func logsFast(r *[32]uint32) (or, sum uint32) { return logsAVX2(r) }

func classifyFast(u, r *[32]uint32, t uint) (or, sum uint32) {
	return classifyAVX2(u, r, uint64(t&31))
}

func priceFast(u *[32]uint32, k uint, prices *[256]uint32) (uint32, bool) {
	sum, all := priceAVX2(u, uint64(k&31), prices)
	return sum, all>>31 == 0
}

// deltasFast works at the last 32 numbers of y. The distances must not reach beyond y.
func deltasFast(r *[32]uint32, y []uint32, back []int, plus int) {
	deltasAVX2(r, &y[len(y)-32], &back[0], plus, len(back)-plus)
}

// predictFast needs distances of at least leastBack that do not lead out of y.
func predictFast(y []uint32, i int, b *Back, c, step uint32) {
	predictAVX2(&y[i], len(y)-i, &b.dist[0], b.plus, b.minus, c, step)
}

func marksFast(y *[34]uint32, m uint32) uint32 { return marksAVX2(y, m) }

// places has for each byte of a mask the places of the clear bits below each bit: where
// vectors of eight find the elements of Expand.
var places = func() (p [256][8]byte) {
	for m := range p {
		k := byte(0)
		for i := range 8 {
			p[m][i] = k
			if m>>i&1 == 0 {
				k++
			}
		}
	}
	return p
}()

// expandFast reads up to 8 elements after the last one it uses.
func expandFast(y, src []uint32, masks []uint64) bool {
	if !haveFast {
		return false
	}
	_ = y[64*len(masks)-1]
	expandAVX2(&y[0], &src[0], &masks[0], len(masks), &places)
	return true
}

func stampFast(dst []byte, masks []uint64, v uint32) bool {
	if !haveFast || len(masks) == 0 {
		return false
	}
	_ = dst[256*len(masks)-1]
	stampAVX2(&dst[0], &masks[0], len(masks), v)
	return true
}

func topsFast(dst []uint32, src []byte) bool {
	if !haveFast || len(dst) == 0 {
		return false
	}
	_ = src[32*len(dst)-1]
	topsAVX2(&dst[0], &src[0], len(dst))
	return true
}

func lookupFast(dst []byte, y []uint32, entries []byte) int {
	k := whole(len(y), 8)
	if k > 0 {
		_ = dst[4*k-1]
		lookupAVX2(&dst[0], &y[0], k, &entries[0], uint32(len(entries)/4))
	}
	return k
}

// splitFast writes up to 8 bytes of low after the low bits.
func splitFast(sym *[32]byte, low []byte, u *[32]uint32, k uint) uint32 {
	_ = low[4*k+7]
	return splitBMI2(sym, &low[0], u, uint64(k))
}

func equalFast(dst []uint64, u []uint32, v uint32) bool {
	if !haveFast || len(dst) == 0 {
		return false
	}
	_ = u[64*len(dst)-1]
	equalAVX2(&dst[0], &u[0], len(dst), v)
	return true
}

func zerosFast(dst []byte, r []uint32) bool {
	if !haveFast || len(dst) == 0 {
		return false
	}
	zerosAVX2(&dst[0], &r[0], len(dst))
	return true
}

// wordsFast needs at least four symbols.
func wordsFast(dst *byte, syms []byte, words *[256]Word, acc, n uint64) (done int, rest, left uint64) {
	return wordsBMI2(dst, &syms[0], len(syms), words, acc, n)
}

func pack2Fast(dst, v []byte) int {
	k := whole(2*len(dst), 64)
	if k > 0 {
		_ = v[k-1]
		pack2AVX2(&dst[0], &v[0], k)
	}
	return k / 2
}

func pack4Fast(dst, v []byte) int {
	k := whole(4*len(dst), 64)
	if k > 0 {
		_ = v[k-1]
		pack4AVX2(&dst[0], &v[0], k)
	}
	return k / 4
}

func decode4Fast(dst []byte, n int, src []byte, p *[4]uint64, tables *[4]*Table) bool {
	last := slices.Max(p[:])>>3 + uint64(n*TableBits+7)>>3 + 8
	if !haveFast || n == 0 || last > uint64(len(src)) {
		return false
	}
	_ = dst[3*Apart+n-1]
	decode4BMI2(&dst[0], n, &src[0], p, tables)
	return true
}

// decode8Fast decodes the first symbols of each string and returns how many.
func decode8Fast(dst *[8 * Apart]byte, src []byte, p *[8]uint64, table *Table) int {
	const k = Apart / 5 * 5
	last := slices.Max(p[:])>>3 + (Apart*TableBits+7)>>3 + 8
	if !haveFast || last > uint64(len(src)) {
		return 0
	}
	decode8BMI2(&dst[0], k, &src[0], p, table)
	return k
}

// maxJoin is the most low bits of joinAVX2.
const maxJoin = 25

// widths has for each number of low bits where a vector of eight finds them: the
// bytes that hold each number, the bit they start at, and a mask.
var widths = func() (w [maxJoin + 1][68]byte) {
	for k := range w {
		for j := range 8 {
			at := j * k >> 3
			if j >= 4 {
				at -= k >> 1
			}
			for i := range 4 {
				w[k][4*j+i] = byte(at + i)
			}
			w[k][32+4*j] = byte(j * k & 7)
		}
		binary.LittleEndian.PutUint32(w[k][64:], 1<<k-1)
	}
	return w
}()

func joinFast(d []uint32, class, zeros, low, syms []byte, places []uint64, at *Groups) {
	if !haveFast || len(class) == 0 || len(syms) == 0 || len(places) == 0 {
		return
	}
	_ = d[32*len(class)-1]
	var z *byte
	if zeros != nil {
		_ = zeros[len(class)-1]
		z = &zeros[0]
	}
	first := &syms[0] // not read without low bits
	if len(low) > 0 {
		first = &low[0]
	}
	joinAVX2(&d[0], len(class), &class[0], z, first, len(low), &syms[0], &places[0], &widths[0][0], (*byte)(unsafe.Pointer(at)))
}

// moves has for each set of lanes, by its bits, which one of the values that follow each other a lane gets.
var moves = func() (m [256][8]byte) {
	for set := range m {
		next := byte(0)
		for lane := range 8 {
			if set>>lane&1 != 0 {
				m[set][lane] = next
				next++
			}
		}
	}
	return m
}()

func rowFast(s *Row) int {
	if !haveFast || s.N < 1 {
		return 0
	}
	return rowAVX2((*byte)(unsafe.Pointer(s)), &moves)
}

func neighboursFast(dst []float32, from [][]float32, factors []float32) bool {
	if !haveFast || len(dst) == 0 || len(factors) == 0 {
		return false
	}
	n := (len(dst) + 7) &^ 7
	_ = dst[:n]
	var p [MostTaps]*float32
	var w [MostTaps]float32
	for i := range p {
		p[i] = &from[0][0] // times 0
		if i < len(factors) {
			_ = from[i][:n]
			p[i], w[i] = &from[i][0], factors[i]
		}
	}
	if len(factors) <= 5 {
		neighbours5AVX2(&dst[0], &p, &w, n)
	} else {
		neighbours10AVX2(&dst[0], &p, &w, n)
	}
	return true
}

func rampFast(dst []uint32, first uint32, n int) bool {
	n = (n + 7) &^ 7
	if !haveFast || n == 0 {
		return false
	}
	_ = dst[n-1]
	rampAVX2(&dst[0], first, n)
	return true
}

func edgesFast(mags []float32, marks []uint16, at, seg, longer int) bool {
	if !haveFast {
		return false
	}
	first, end := at-32, at+16*(seg+2)
	if longer > 0 {
		end += 16
	}
	_, _ = mags[first:end], marks[first:end]
	edgesAVX2(&mags[at], &marks[at], seg, longer)
	return true
}

func activeFast(dst []uint16, masked []uint64, starts *[16]int, n int) bool {
	if !haveFast || n < 8 || (starts[15]+n)>>6 >= len(masked) { // a byte more is read
		return false
	}
	_ = dst[16*n-1]
	for j := 0; j < n; {
		j = min(j, n-8) // the last ones again
		activeAVX2(&dst[16*j], &masked[0], starts, j)
		j += 8
	}
	return true
}

func stripesFast(dst []uint16, starts *[16]int, marks []uint16, n int) bool {
	if !haveFast || n < 8 {
		return false
	}
	_, _ = dst[starts[15]+n-1], marks[16*n-1]
	for j := 0; j < n; {
		j = min(j, n-8) // the last ones again
		stripesAVX2(&dst[j], starts, &marks[16*j])
		j += 8
	}
	return true
}

// readable returns how many of n residuals, a multiple of step, have low bits and 15 bytes more in low, for sure.
func readable(n, step int, low []byte, pos, most int) int {
	if !haveFast || n < step {
		return 0
	}
	left := len(low) - pos>>3 - 16
	if left < 0 {
		return 0
	}
	if 8*left/n < most {
		n = 8 * left / most
	}
	return n - n%step
}

func lowBits32Fast(dst []uint32, marks []uint16, low []byte, pos, t, most int) (done, end int) {
	for {
		k := readable(len(dst)-done, 8, low, pos, most)
		if k == 0 {
			return done, pos
		}
		_, _ = marks[done+k-1], dst[done+k-1]
		lowBits := lowBits32AVX2
		if most <= 25 {
			lowBits = lowBitsAVX2
		}
		pos = int(lowBits(&dst[done], &marks[done], k, &low[0], uint64(pos), uint32(t)))
		done += k
	}
}

func lowBits64Fast(dst []uint64, marks []uint16, low []byte, pos, t, most int) (done, end int) {
	for {
		k := readable(len(dst)-done, 4, low, pos, most)
		if k == 0 {
			return done, pos
		}
		_, _ = marks[done+k-1], dst[done+k-1]
		n, bit := lowBits64AVX2(&dst[done], &marks[done], k, &low[0], uint64(pos), uint64(t))
		done, pos = done+n, int(bit)
		if n < k {
			return done, pos
		}
	}
}
