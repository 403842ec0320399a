// Package masks holds the places of special values in a block: which elements have one,
// how that is stored, and the residuals of the others. docs/LORENZ.md, section 6,
// specifies the bytes.
package masks

import (
	"math/bits"
	"sort"

	"github.com/cdfz-format/cdfz/lorenz/internal/entropy"
	"github.com/cdfz-format/cdfz/lorenz/internal/kernels"
)

// MaxSpecials is the largest number of masked values.
const MaxSpecials = 2

// Mask is the place of a block's special values: runs in ascending order.
type Mask struct {
	Runs     []Run
	Patterns [MaxSpecials][]byte   // big-endian elements
	bits     [MaxSpecials][]uint64 // of each kind, which elements have it
	nums     []uint64
}

// Run is a run of elements with the same special value.
type Run struct {
	Start, End int32
	before     int32 // masked elements before the run
	kind       uint8
}

// From returns the index of the first run that ends after element e.
func (m *Mask) From(e int) int {
	if len(m.Runs) == 0 || e < int(m.Runs[0].End) {
		return 0
	}
	return sort.Search(len(m.Runs), func(i int) bool { return int(m.Runs[i].End) > e })
}

// Rank returns how many elements before e are not masked.
func (m *Mask) Rank(e int) int {
	i := m.From(e)
	if i < len(m.Runs) {
		r := m.Runs[i]
		return e - int(r.before) - max(0, e-int(r.Start))
	}
	if i == 0 {
		return e
	}
	r := m.Runs[i-1]
	return e - int(r.before+r.End-r.Start)
}

// Unmasked returns a bit for each of 32 elements from e on, set if it is not masked. e is one of
// the elements of the block. Those after the block count as unmasked. The mask is from Build.
func (m *Mask) Unmasked(e int) uint32 {
	if len(m.Runs) == 0 {
		return ^uint32(0)
	}
	i, shift := e>>6, uint(e&63)
	word := m.bits[0][i] | m.bits[1][i]
	masked := word >> shift
	if i++; shift > 32 && i < len(m.bits[0]) {
		masked |= (m.bits[0][i] | m.bits[1][i]) << (64 - shift)
	}
	return ^uint32(masked)
}

// Compact copies the unmasked ones of the elements from at on to dst. y are all elements up to the
// last one. It returns how many it copied.
func Compact[T entropy.Lane](m *Mask, dst, y []T, at int) int {
	k := 0
	for _, r := range m.Runs[m.From(at):] {
		if int(r.Start) >= len(y) {
			break
		}
		if at < int(r.Start) {
			k += copy(dst[k:], y[at:r.Start])
		}
		at = int(r.End)
	}
	if at < len(y) {
		k += copy(dst[k:], y[at:])
	}
	return k
}

// at returns the kind of element e, and the end of its run as far as known. i is the
// number of a run that is not after e; it is advanced.
func (m *Mask) at(e, known int, i *int) (kind, end int) {
	for *i < len(m.Runs) && int(m.Runs[*i].End) <= e {
		*i++
	}
	if *i == len(m.Runs) {
		return 0, known
	}
	r := m.Runs[*i]
	if e < int(r.Start) {
		return 0, int(r.Start)
	}
	return int(r.kind) + 1, int(r.End)
}

// clearBits makes n bits for each of the kinds, all 0.
func clearBits(b *[MaxSpecials][]uint64, n, kinds int) {
	for k := range b[:kinds] {
		b[k] = entropy.Grow(b[k], (n+63)/64)
		clear(b[k])
	}
}

// setRange sets the bits from start to end, at least one.
func setRange(w []uint64, start, end int) {
	i, last := start>>6, (end-1)>>6
	first, rest := ^uint64(0)<<(start&63), ^uint64(0)>>(-end&63)
	if i == last {
		w[i] |= first & rest
		return
	}
	w[i] |= first
	for i++; i < last; i++ {
		w[i] = ^uint64(0)
	}
	w[last] |= rest
}

// Build sets the mask to the places of the values in keep and returns the number of
// masked elements.
func Build[T entropy.Lane](m *Mask, u []T, keep []T) int {
	clearBits(&m.bits, len(u), MaxSpecials)
	for k, v := range keep {
		equal(m.bits[k], u, v)
	}
	return m.findRuns(len(keep))
}

// equal sets the bits of the elements with a value. All bits are 0 before.
func equal[T entropy.Lane](dst []uint64, u []T, v T) {
	done := 0
	if narrow, ok := any(u).([]uint32); ok {
		done = 64 * kernels.Equal(dst, narrow, uint32(v))
	}
	for i, x := range u[done:] {
		if x == v {
			dst[(done+i)>>6] |= 1 << ((done + i) & 63)
		}
	}
}

// findRuns sets the runs from the bits of a number of kinds, and returns the number of masked
// elements.
func (m *Mask) findRuns(kinds int) int {
	runs := m.Runs[:0]
	last := Run{Start: -1, End: -1}
	for i, a := range m.bits[0] {
		b := uint64(0)
		if kinds > 1 {
			b = m.bits[1][i]
		}
		for at := int32(i * 64); a|b != 0; {
			k := bits.TrailingZeros64(a | b)
			at += int32(k)
			a, b = a>>k, b>>k
			kind := uint8(b & 1)
			if kind == 0 {
				k = bits.TrailingZeros64(^a)
			} else {
				k = bits.TrailingZeros64(^b)
			}
			if at != last.End || kind != last.kind {
				if last.End >= 0 {
					runs = append(runs, last)
				}
				last = Run{Start: at, before: last.before + last.End - last.Start, kind: kind}
			}
			at += int32(k)
			last.End = at
			a, b = a>>k, b>>k
		}
	}
	if last.End >= 0 {
		runs = append(runs, last)
	}
	m.Runs = runs
	return int(last.before + last.End - last.Start)
}
