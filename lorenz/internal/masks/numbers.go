package masks

import "math/bits"

// A mask is stored as the lengths of runs that cover the block. A run has a step. Its
// elements have the kind of the element a distance before them plus this step, modulo
// the number of kinds. Without a distance the kind is the step. Kind 0 stands for
// unmasked elements. The step of a run is that of the previous run increased by 1, or
// with two specials by 1 or 2, according to the low bit of the number.

// numbers returns the stored numbers.
func (m *Mask) numbers(dst []uint64, specials, dist, n int) []uint64 {
	start, step, prev := 0, 0, specials
	put := func(end int) {
		v := uint64(end - start)
		if specials == 2 {
			v = v<<1 | uint64((step-prev+2)%3)
		}
		dst = append(dst, v)
		start, prev = end, step
	}
	for at, i, ref := 0, 0, 0; at < n; {
		kind, end := m.at(at, n, &i)
		before := 0
		if dist > 0 && at < dist {
			end = min(end, dist)
		} else if dist > 0 {
			k, e := m.at(at-dist, n, &ref)
			before, end = k, min(end, e+dist)
		}
		if next := (kind - before + specials + 1) % (specials + 1); next != step {
			put(at)
			step = next
		}
		at = end
	}
	put(n)
	return dst
}

// Shortest returns the one of some distances between neighbours at which the mask probably takes the
// fewest bits, the numbers for it, and an estimate of their bits. The mask is from Build.
func (m *Mask) Shortest(strides []int, specials, n int) (dist int, nums []uint64, cost int) {
	least := m.changes(0)
	for _, d := range strides {
		if d == 1 {
			continue
		}
		if c := m.changes(d); c < least {
			dist, least = d, c
		}
	}
	m.nums = m.numbers(m.nums[:0], specials, dist, n)
	for _, x := range m.nums {
		cost += bits.Len64(x) + 2
	}
	return dist, m.nums, cost
}

// changes returns about how many runs the mask has, given that at a distance.
func (m *Mask) changes(dist int) int {
	a, b := m.bits[0], m.bits[1]
	words, shift := dist>>6, uint(dist&63)
	sum, last := 0, uint64(0)
	for i := range a {
		x, y := a[i], b[i]
		if j := i - words; dist > 0 && j >= 0 {
			u, v := a[j]<<shift, b[j]<<shift
			if j > 0 {
				u |= a[j-1] >> (64 - shift)
				v |= b[j-1] >> (64 - shift)
			}
			x, y = x^u, y^v
		}
		x |= y
		sum += bits.OnesCount64(x ^ (x<<1 | last))
		last = x >> 63
	}
	return sum
}
