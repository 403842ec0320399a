// Package repeats replaces runs of residuals that occurred before by references to them:
// section 7 of docs/LORENZ.md.
package repeats

import (
	"math/bits"

	"github.com/cdfz-format/cdfz/lorenz/internal/entropy"
	"github.com/cdfz-format/cdfz/lorenz/internal/kernels"
)

// Tokens are the repeats of a block: numbers of literals, numbers of elements to copy,
// and distances. All other literals follow the last token.
type Tokens struct {
	Lits, Lens, Dist []uint64
}

// Distances are stored as 0 to 2 for one of the last three, else increased by 3.
const recent = 3

// Finder finds repeats of residuals.
type Finder struct {
	head, prev []int32
	Tokens     // the result of Parse
}

// Recurring estimates the share of residuals that repeat earlier ones, from the repeats
// of runs of k at places chosen by their values. If sparse, long blocks are sampled at fewer of
// these places.
func Recurring[T entropy.Lane](f *Finder, r []T, k int, sparse bool) float64 {
	const tableBits, of = 12, 16
	thin := 0 // one place in 2^thin of these is visited
	if sparse {
		thin = min(max(bits.Len(uint(len(r)))-15, 0), 3)
	}
	const m = 0x9E3779B97F4A7C15
	f.head = entropy.Grow(f.head, 1<<tableBits)
	clear(f.head)
	if len(r) < 8*k+4 {
		return 0
	}
	hits, seen := 0, 0
	try := func(r []T) {
		var h, or uint64
		for len(r) >= 2 {
			a, b := uint64(r[0]), uint64(r[1])
			or |= a | b
			h = (h ^ h>>29 ^ a ^ bits.RotateLeft64(b, 32)) * m
			r = r[2:]
		}
		for _, v := range r {
			or |= uint64(v)
			h = (h ^ h>>29 ^ uint64(v)) * m
		}
		if or == 0 { // runs of zeros cost little anyway
			return
		}
		h = (h ^ h>>29) * m
		slot := &f.head[h>>(64-tableBits)]
		if *slot == int32(h|1) {
			hits++
		}
		*slot = int32(h | 1)
	}
	eachMarked(r[:len(r)-max(k, 3)+3], func(i int) {
		if (uint64(r[i])+3*uint64(r[i+1]))*0xC2B2AE3D27D4EB4F>>(64-thin) != 0 {
			return
		}
		seen++
		try(r[i : i+k])
	})
	if seen < len(r)/(4*of)>>thin {
		// Few different values: places at equal distances.
		hits, seen = 0, 0
		clear(f.head)
		for i := 0; i+k <= len(r); i += of << thin {
			seen++
			try(r[i : i+k])
		}
	}
	return float64(hits) / float64(max(seen, 1))
}

// eachMarked visits about one place in 16, chosen by three values from there on.
func eachMarked[T entropy.Lane](r []T, visit func(i int)) {
	i := 0
	if narrow, ok := any(r).([]uint32); ok {
		for ; i+34 <= len(narrow); i += 32 {
			for m := kernels.Marks((*[34]uint32)(narrow[i:])); m != 0; m &= m - 1 {
				visit(i + bits.TrailingZeros32(m))
			}
		}
		return
	}
	for ; i+3 <= len(r); i++ {
		if (uint64(r[i])+3*uint64(r[i+1])+5*uint64(r[i+2]))*0x9E3779B97F4A7C15>>60 == 1 {
			visit(i)
		}
	}
}

// A table of repeats has about two places for each residual, but few enough for the cache.
const (
	leastBits  = 8
	repeatBits = 15
)

func hashOf[T entropy.Lane](r []T, i, k int) uint64 {
	h := uint64(0)
	for _, v := range r[i : i+k] {
		h = (h ^ uint64(v)) * 0x9E3779B97F4A7C15
	}
	return h
}

// Parse splits residuals into tokens, which are left in f, and literals. literal is the
// estimated cost of a literal in bits.
func Parse[T entropy.Lane](f *Finder, r, lits []T, literal float64, depth int) []T {
	f.Lits, f.Lens, f.Dist, lits = f.Lits[:0], f.Lens[:0], f.Dist[:0], lits[:0]
	k := 2 // elements hashed
	if literal > 26 {
		k = 1
	}
	tableBits := min(max(bits.Len(uint(len(r)))+1, leastBits), repeatBits)
	shift := uint(64 - tableBits)
	f.head = entropy.Grow(f.head, 1<<tableBits)
	clear(f.head) // places count from 1
	f.prev = entropy.Grow(f.prev, len(r))
	last := [recent]int{1, 1, 1}
	known, start := 0, 0
	var sums [33]float64 // costs of the first literals, of which that many are known
	best := func(at int) (n, dist, code int, gain float64) {
		summed := 0
		try := func(d, c int, cost float64) {
			if d > at || r[at] != r[at-d] || at+n < len(r) && r[at+n] != r[at+n-d] { // not longer than the best
				return
			}
			m := 1
			for at+m < len(r) && r[at+m] == r[at+m-d] {
				m++
			}
			// Zeros cost little anyway.
			for ; summed < min(m, len(sums)-1); summed++ {
				one := literal
				if r[at+summed] == 0 {
					one = min(literal, 1)
				}
				sums[summed+1] = sums[summed] + one
			}
			worth := sums[min(m, len(sums)-1)]
			if m > len(sums)-1 {
				worth = worth * float64(m) / float64(len(sums)-1)
			}
			if g := worth - cost - float64(bits.Len(uint(m))); g > gain {
				n, dist, code, gain = m, d, c, g
			}
		}
		for i, d := range last {
			try(d, i, 4)
		}
		if at+k > len(r) {
			return
		}
		p := f.head[hashOf(r, at, k)>>(shift&63)]
		for i := 0; i < depth && p > 0; i++ {
			if r[p-1] == r[at] && (at+n == len(r) || r[int(p)-1+n] == r[at+n]) {
				d := at + 1 - int(p)
				try(d, recent, 8+float64(bits.Len(uint(d))))
			}
			p = f.prev[p-1]
		}
		return
	}
	enter := func(at int) {
		for ; known < at && known+k <= len(r); known++ {
			slot := &f.head[hashOf(r, known, k)>>(shift&63)]
			f.prev[known] = *slot
			*slot = int32(known + 1)
		}
	}
	for at := 0; at < len(r); {
		enter(at)
		n, d, c, gain := best(at)
		if n == 0 {
			at++
			continue
		}
		if n < 32 && at+1 < len(r) {
			enter(at + 1)
			if _, _, _, g := best(at + 1); g > gain+literal/2 {
				at++
				continue
			}
		}
		f.Lits = append(f.Lits, uint64(at-start))
		f.Lens = append(f.Lens, uint64(n-1))
		lits = append(lits, r[start:at]...)
		switch c {
		case recent:
			f.Dist = append(f.Dist, uint64(d+recent))
			last = [recent]int{d, last[0], last[1]}
		case 2:
			f.Dist = append(f.Dist, 2)
			last = [recent]int{d, last[0], last[1]}
		case 1:
			f.Dist = append(f.Dist, 1)
			last = [recent]int{d, last[0], last[2]}
		default:
			f.Dist = append(f.Dist, 0)
		}
		at += n
		start = at
	}
	return append(lits, r[start:]...)
}
