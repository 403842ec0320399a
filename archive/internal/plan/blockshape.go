package plan

import (
	"math/bits"
	"slices"
)

// maxBlock is the largest decoded length of a block, in bytes. Part of the format.
const maxBlock = 1 << 30

// BlockShape is the planner of docs/FORMAT.md, "Block shapes". It returns the
// shape of the blocks of a variable whose elements have size bytes, for a target in
// bytes. No element of shape may be negative.
func BlockShape(shape []int64, size, target int64) []int64 {
	n := make([]int64, len(shape))
	for i, d := range shape {
		n[i] = max(1, d)
	}
	if len(n) == 0 {
		return n
	}
	var cands []candidate
	inner := size
	for j := len(n) - 1; j >= 0; j-- {
		cands = append(cands, candidatesOf(j, n[j], inner, target)...)
		if n[j] > maxBlock/inner {
			break // any block of a further dimension would be too large
		}
		inner *= n[j]
	}
	cands = keep(cands, func(c candidate) bool { return c.block <= maxBlock })
	cands = keep(cands, func(c candidate) bool { return c.block >= (target+1)/2 && c.block <= 2*target })
	best := slices.MinFunc(cands, func(a, b candidate) int { return a.compare(b, target) })
	out := slices.Clone(n)
	for i := 0; i < best.j; i++ {
		out[i] = 1
	}
	out[best.j] = best.k
	return out
}

// candidate is a way to cut dimension j, of length n, into pieces of k indices.
type candidate struct {
	j     int
	k, n  int64
	block int64 // bytes
}

func candidatesOf(j int, n, inner, target int64) []candidate {
	if inner > maxBlock {
		return nil
	}
	lo := target / inner
	hi := (target + inner - 1) / inner
	var out []candidate
	for _, k0 := range [...]int64{lo, hi} {
		k0 = min(max(k0, 1), n)
		k := CeilDiv(n, CeilDiv(n, k0))
		if k <= maxBlock/inner {
			out = append(out, candidate{j, k, n, k * inner})
		}
	}
	return out
}

// keep drops candidates that do not satisfy the condition, unless none would remain.
func keep(in []candidate, cond func(candidate) bool) []candidate {
	out := slices.DeleteFunc(slices.Clone(in), func(c candidate) bool { return !cond(c) })
	if len(out) == 0 {
		return in
	}
	return out
}

// compare orders candidates, best first.
func (a candidate) compare(b candidate, target int64) int {
	if c := cmpProducts(CeilDiv(a.n, a.k)*a.k, b.n, CeilDiv(b.n, b.k)*b.k, a.n); c != 0 {
		return c
	}
	// |log(x/t)| grows with max(x,t)/min(x,t).
	if c := cmpProducts(max(a.block, target), min(b.block, target), max(b.block, target), min(a.block, target)); c != 0 {
		return c
	}
	if a.j != b.j {
		return b.j - a.j
	}
	return int(min(max(b.k-a.k, -1), 1))
}

// cmpProducts compares a*b with c*d without overflow.
func cmpProducts(a, b, c, d int64) int {
	h1, l1 := bits.Mul64(uint64(a), uint64(b))
	h2, l2 := bits.Mul64(uint64(c), uint64(d))
	switch {
	case h1 < h2 || h1 == h2 && l1 < l2:
		return -1
	case h1 > h2 || l1 > l2:
		return 1
	}
	return 0
}

// CeilDiv returns a/b, rounded up. Neither may be negative. Their sum may exceed the largest int64.
func CeilDiv(a, b int64) int64 {
	q := a / b
	if a%b > 0 {
		q++
	}
	return q
}
