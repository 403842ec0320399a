// Package kernels has the inner loops of lorenz on lanes of 32 bits. Predict serves 64 bits
// too. Each is written in Go; for amd64 there is assembly as well, which is used if the CPU
// has AVX2 and BMI2. Both do exactly the same. The build tag purego leaves the assembly out.
package kernels

//go:generate sh -c "cd gen && go run . -out ../kernels_amd64.s -stubs ../stubs_amd64.go -pkg kernels"

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
)

// Put writes integers as big-endian bytes.
func Put(dst []byte, y []uint32) {
	k := putFast(dst, y)
	dst, y = dst[4*k:4*len(y)], y[k:]
	for len(y) >= 4 && len(dst) >= 16 {
		put4((*[16]byte)(dst), y[0], y[1], y[2], y[3])
		dst, y = dst[16:], y[4:]
	}
	for i, v := range y {
		binary.BigEndian.PutUint32(dst[4*i:], v)
	}
}

// put4 writes four integers as big-endian bytes.
func put4(dst *[16]byte, a, b, c, d uint32) {
	binary.BigEndian.PutUint32(dst[0:], a)
	binary.BigEndian.PutUint32(dst[4:], b)
	binary.BigEndian.PutUint32(dst[8:], c)
	binary.BigEndian.PutUint32(dst[12:], d)
}

// Load reads big-endian integers.
func Load(dst []uint32, src []byte) {
	k := loadFast(dst, src)
	dst, src = dst[k:], src[4*k:4*len(dst)]
	for len(dst) >= 4 && len(src) >= 16 {
		b := (*[16]byte)(src)
		dst[0] = binary.BigEndian.Uint32(b[0:])
		dst[1] = binary.BigEndian.Uint32(b[4:])
		dst[2] = binary.BigEndian.Uint32(b[8:])
		dst[3] = binary.BigEndian.Uint32(b[12:])
		dst, src = dst[4:], src[16:]
	}
	for i := range dst {
		dst[i] = binary.BigEndian.Uint32(src[4*i:])
	}
}

// PutOrdered writes floats that are given as integers of the same order.
func PutOrdered(dst []byte, y []uint32) {
	k := putOrderedFast(dst, y)
	dst, y = dst[4*k:4*len(y)], y[k:]
	for len(y) >= 4 && len(dst) >= 16 {
		put4((*[16]byte)(dst), Unordered(y[0]), Unordered(y[1]), Unordered(y[2]), Unordered(y[3]))
		dst, y = dst[16:], y[4:]
	}
	for i, v := range y {
		binary.BigEndian.PutUint32(dst[4*i:], Unordered(v))
	}
}

// Order maps the bits of floats to integers of the same order.
func Order(dst, u []uint32) {
	k := orderFast(dst, u)
	dst, u = dst[k:len(u)], u[k:]
	for i, v := range u {
		dst[i] = v ^ (uint32(int32(v)>>31) | 1<<31)
	}
}

// PrefixSum replaces each element by the sum of all up to it.
func PrefixSum(y []uint32) {
	k := prefixSumFast(y)
	var sum uint32
	if k > 0 {
		sum = y[k-1]
	}
	y = y[k:]
	for len(y) >= 4 {
		a := y[0]
		b := a + y[1]
		c := b + y[2]
		d := c + y[3]
		y[0], y[1], y[2], y[3] = sum+a, sum+b, sum+c, sum+d
		sum += d
		y = y[4:]
	}
	for i, v := range y {
		sum += v
		y[i] = sum
	}
}

// SumAdd replaces each element of to by sum, plus all elements up to it, plus the element of from
// at the same place. from has at least as many elements. It may be the elements of the same slice that
// begin at least 8 before to.
func SumAdd(to, from []uint32, sum uint32) {
	k := sumAddFast(to, from, sum)
	from = from[:len(to)]
	if k > 0 {
		sum = to[k-1] - from[k-1]
	}
	to, from = to[k:], from[k:]
	for len(to) >= 4 && len(from) >= 4 {
		y, x := (*[4]uint32)(to), (*[4]uint32)(from)
		a := sum + y[0]
		b := y[1] + y[2]
		c := a + y[1]
		d := a + b
		sum = d + y[3]
		y[0], y[1], y[2], y[3] = a+x[0], c+x[1], d+x[2], sum+x[3]
		to, from = to[4:], from[4:]
	}
	from = from[:len(to)]
	for i, v := range to {
		sum += v
		to[i] = sum + from[i]
	}
}

// SumBytes replaces each byte by the sum up to it, modulo 256, and returns the largest sum.
func SumBytes(b []byte) (most byte) {
	k, most := sumBytesFast(b)
	sum := byte(0)
	if k > 0 {
		sum = b[k-1]
	}
	for i, v := range b[k:] {
		sum += v
		b[k+i] = sum
		most = max(most, sum)
	}
	return most
}

// AddStride adds to each element the one s before it, in ascending order.
func AddStride(y []uint32, s int) {
	switch {
	case s >= len(y):
	case s >= 8:
		Add(y[s:], y)
	default:
		from, to := y[:len(y)-s], y[s:]
		for i, v := range from {
			to[i] += v
		}
	}
}

// Add adds to each element of to the one of from at the same place. from has at least as many elements. It
// may be the elements of the same slice that begin at least 8 before to.
func Add(to, from []uint32) {
	k := addFast(to, from[:len(to)])
	from, to = from[k:len(to)], to[k:]
	for len(from) >= 8 && len(to) >= 8 {
		a, b := (*[8]uint32)(from), (*[8]uint32)(to)
		b[0] += a[0]
		b[1] += a[1]
		b[2] += a[2]
		b[3] += a[3]
		b[4] += a[4]
		b[5] += a[5]
		b[6] += a[6]
		b[7] += a[7]
		from, to = from[8:], to[8:]
	}
	to = to[:len(from)]
	for i, v := range from {
		to[i] += v
	}
}

// Subtract sets dst to a - b. dst may be a, or else must not overlap them.
func Subtract(dst, a, b []uint32) {
	k := subtractFast(dst, a, b)
	dst, a, b = dst[k:], a[k:len(dst)], b[k:len(dst)]
	for i := range dst {
		dst[i] = a[i] - b[i]
	}
}

// Multiples sets k to the integers y × c, where c is a power of two, and y are floats, given as
// integers of the same order. It returns how many elements it set, which may be 0. It stops before an
// element that is -0 or has no such integer with |k| < 2^31.
func Multiples(k, y []uint32, c float64) int { return multiplesFast(k, y, c) }

// Numerators sets k to the integers with y = k / d, rounded to a float, for floats y that are
// given as integers of the same order. It stops at an element for which there is no such
// integer with |k| < 2^24 at the latest, and returns how many it did, which may be 0.
func Numerators(k, y []uint32, d float64) int { return numeratorsFast(k, y, d) }

// Logs returns the bits that are set in any of 32 signed values, and the sum of
// their logarithms in units of 2^-10: about log2(4|v| + 1) + 127 for each v, without
// the trailing zeros that all have.
func Logs(r *[32]uint32) (or, sum uint32) {
	if haveFast {
		return logsFast(r)
	}
	for _, v := range r {
		or |= v
	}
	t := uint(bits.TrailingZeros32(or)) & 31
	for _, v := range r {
		m := int32(v) >> t
		sum += math.Float32bits(float32(4*float32(m^m>>31))+1) >> 13
	}
	return or, sum
}

// Classify sets u to the zigzag numbers of 32 signed values shifted right by t. It
// returns the bits that are set in any of them, and the sum of their logarithms:
// log2(2u + 1) + 127 for each u.
func Classify(u, r *[32]uint32, t uint) (or, sum uint32) {
	if haveFast {
		return classifyFast(u, r, t)
	}
	for i, v := range r {
		s := v >> 31
		m := (v ^ -s) >> (t & 31)
		u[i] = m<<1 | s
		or |= u[i]
		sum += Log(u[i])
	}
	return or, sum
}

// Price adds up the prices of 32 numbers shifted right by k. Numbers of at least 192 have the
// price at 184 plus their bit length.
func Price(u *[32]uint32, k uint, prices *[256]uint32) (sum uint32) {
	if haveFast {
		if sum, ok := priceFast(u, k, prices); ok {
			return sum
		}
	}
	for _, v := range u {
		v >>= k & 31
		if v > 191 {
			v = 184 + uint32(bits.Len32(v))
		}
		sum += prices[v&255]
	}
	return sum
}

// Deltas sets r to the 32 numbers from y[i] on, plus the numbers at the first plus distances before
// them, minus the numbers at the other distances. There is at least one other distance.
func Deltas(r *[32]uint32, y []uint32, i int, back []int, plus int) {
	if haveFast && i >= slices.Max(back) {
		deltasFast(r, y[:i+32], back, plus)
		return
	}
	*r = [32]uint32(y[i:])
	for k, d := range back {
		x := (*[32]uint32)(y[i-d:])
		if k < plus {
			for j := range r {
				r[j] += x[j]
			}
		} else {
			for j := range r {
				r[j] -= x[j]
			}
		}
	}
}

// Marks selects about one in 16 places by a hash of three numbers: a bit for each of 32
// runs of three.
func Marks(y *[34]uint32) (marks uint32) {
	const m = 0x9E3779B1
	if haveFast {
		return marksFast(y, m)
	}
	for i := range 32 {
		if (y[i]+3*y[i+1]+5*y[i+2])*m>>28 == 1 {
			marks |= 1 << i
		}
	}
	return marks
}

// Expand copies consecutive elements of src to the elements of y whose bits in masks are 0, and
// clears the others. A mask has 64 elements. Expand returns how many masks it could process, and how
// many elements of src they used. It may overwrite up to eight elements of y after them.
func Expand(y, src []uint32, masks []uint64) (done, used int) {
	masks = masks[:min(len(masks), len(y)/64)]
	for done < len(masks) {
		n := bits.OnesCount64(^masks[done])
		if used+n+expandStep > len(src) {
			break
		}
		used += n
		done++
	}
	if done == 0 || expandFast(y, src, masks[:done]) {
		return done, used
	}
	for i, mask := range masks[:done] {
		to := y[64*i:]
		switch {
		case mask == 0:
			src = src[copy(to[:64], src):]
		case mask == ^uint64(0):
			clear(to[:64])
		case len(to) >= 64+expandStep:
			src = src[expandAhead((*[64 + expandStep]uint32)(to), src, mask):]
		default:
			src = src[expandWord(to[:64], src, mask):]
		}
	}
	return done, used
}

// expandWord is Expand for one mask that has both bits. It returns how many elements of src it took.
func expandWord(to, src []uint32, mask uint64) (used int) {
	for len(to) > 0 {
		k := min(len(to), bits.TrailingZeros64(mask))
		used += copy(to[:k], src[used:])
		to, mask = to[k:], mask>>k
		k = min(len(to), bits.TrailingZeros64(^mask))
		clear(to[:k])
		to, mask = to[k:], mask>>k
	}
	return used
}

// expandStep is how many elements Expand may take at once. It reads, but does not use, up to as many more.
const expandStep = 8

// expandAhead is expandWord in steps of eight elements. It writes up to eight more.
func expandAhead(to *[64 + expandStep]uint32, src []uint32, mask uint64) (used int) {
	for at := 0; at < 64; {
		n := min(64-at, bits.TrailingZeros64(mask))
		for i := 0; i < n; i += 8 {
			a, b := (*[8]uint32)(src[used+i:used+i+8:used+i+8]), (*[8]uint32)(to[(at+i)&63:])
			b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7] = a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7]
		}
		at, used, mask = at+n, used+n, mask>>(n&63)
		n = min(64-at, bits.TrailingZeros64(^mask))
		for i := 0; i < n; i += 8 {
			*(*[8]uint32)(to[(at+i)&63:]) = [8]uint32{}
		}
		at, mask = at+n, mask>>(n&63)
	}
	return used
}

// Stamp sets the elements of 4 bytes whose bits in masks are 1 to a little-endian value.
// Each mask is for 64 elements. It returns how many masks it did.
func Stamp(dst []byte, masks []uint64, v uint32) int {
	masks = masks[:min(len(masks), len(dst)/256)]
	if stampFast(dst, masks, v) {
		return len(masks)
	}
	two := uint64(v)<<32 | uint64(v)
	var all [256]byte
	for i := 0; i < len(all); i += 8 {
		binary.LittleEndian.PutUint64(all[i:], two)
	}
	for i, mask := range masks {
		to := dst[256*i:][:256]
		if mask == ^uint64(0) {
			copy(to, all[:])
			continue
		}
		for mask != 0 { // run by run
			at := bits.TrailingZeros64(mask)
			n := bits.TrailingZeros64(^(mask >> at))
			run := to[4*at:][:4*n]
			for ; len(run) >= 8; run = run[8:] {
				binary.LittleEndian.PutUint64(run, two)
			}
			if len(run) >= 4 {
				binary.LittleEndian.PutUint32(run, v)
			}
			mask &= mask + 1<<at
		}
	}
	return len(masks)
}

// Tops sets each word of dst to the bytes of src that are at least 192, of 32 bytes each.
func Tops(dst []uint32, src []byte) {
	src = src[:32*len(dst)]
	if topsFast(dst, src) {
		return
	}
	const tops = 0x8080808080808080
	const gather = 0x0002040810204081 // a product with it has the tops in its highest byte
	for i := range dst {
		s := (*[32]byte)(src[32*i:])
		a, b := binary.LittleEndian.Uint64(s[0:]), binary.LittleEndian.Uint64(s[8:])
		c, d := binary.LittleEndian.Uint64(s[16:]), binary.LittleEndian.Uint64(s[24:])
		a, b, c, d = a&(a<<1)&tops, b&(b<<1)&tops, c&(c<<1)&tops, d&(d<<1)&tops
		dst[i] = 0
		if a|b|c|d != 0 { // rare
			dst[i] = uint32(a*gather>>56) | uint32(b*gather>>56)<<8 | uint32(c*gather>>56)<<16 | uint32(d*gather>>56)<<24
		}
	}
}

// Equal sets the bits of the numbers that are v, 64 in each word. It returns how many words it did.
func Equal(dst []uint64, u []uint32, v uint32) int {
	dst = dst[:min(len(dst), len(u)/64)]
	if equalFast(dst, u, v) {
		return len(dst)
	}
	for i := range dst {
		var w uint64
		for j, x := range u[64*i:][:64] {
			if x == v {
				w |= 1 << (j & 63)
			}
		}
		dst[i] = w
	}
	return len(dst)
}

// Zeros sets each byte of dst to the trailing zeros that 32 numbers of r have in common, 0 if all
// are 0.
func Zeros(dst []byte, r []uint32) {
	r = r[:32*len(dst)]
	if zerosFast(dst, r) {
		return
	}
	for i := range dst {
		var or uint32
		for _, v := range r[32*i:][:32] {
			or |= v
		}
		dst[i] = byte(bits.TrailingZeros32(or) & 31)
	}
}

// Lookup writes the elements of 4 bytes at places y of entries, the first one for a place that does
// not exist. There is at least one.
func Lookup(dst []byte, y []uint32, entries []byte) {
	k := lookupFast(dst, y, entries)
	dst, y = dst[4*k:4*len(y)], y[k:]
	n := uint32(len(entries) / 4)
	for i, at := range y {
		if at >= n {
			at = 0
		}
		*(*[4]byte)(dst[4*i:]) = *(*[4]byte)(entries[4*at:])
	}
}

// MaxSplit is the most low bits of Split.
const MaxSplit = 28

// Split sets sym to the numbers shifted right by k, at most MaxSplit, and appends the k low bits
// of each number to low. It returns the bits that are set in any of the shifted numbers. Bytes of
// sym whose numbers are 256 or more are undefined.
func Split(sym *[32]byte, low []byte, u *[32]uint32, k uint) (more []byte, or uint32) {
	if haveFast {
		low = slices.Grow(low, int(4*k)+8)
		return low[:len(low)+int(4*k)], splitFast(sym, low[:cap(low)][len(low):], u, k)
	}
	mask := uint32(1)<<k - 1
	var acc uint64
	n := uint(0)
	for i, v := range u {
		or |= v >> k
		sym[i] = byte(v >> k)
		acc |= uint64(v&mask) << (n & 63)
		n += k
		if n >= 32 {
			low = binary.LittleEndian.AppendUint32(low, uint32(acc))
			acc >>= 32
			n -= 32
		}
	}
	return low, or
}

// Log returns about log2(2u + 1) + 127 in units of 2^-10.
func Log(u uint32) uint32 {
	f := float32(4*float32(int32(u>>1))) + float32(int32(2*(u&1)+1))
	return math.Float32bits(f) >> 13
}

// Fill repeats an element in all of dst.
func Fill(dst, element []byte) {
	n := copy(dst, element)
	for n < len(dst) {
		n += copy(dst[n:], dst[:n])
	}
}

// Assembly reports whether the loops with assembly use it.
func Assembly() bool { return haveFast }
