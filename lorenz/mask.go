package lorenz

import (
	"encoding/binary"
	"math/bits"
	"sort"

	"github.com/cdfz-format/cdfz/lorenz/internal/entropy"
)

// maxSpecials is the largest number of masked values.
const maxSpecials = 2

// mask is the place of a block's special values: runs in ascending order.
type mask struct {
	runs     []maskRun
	patterns [maxSpecials][]byte   // big-endian elements
	bits     [maxSpecials][]uint64 // of each kind, which elements have it
	nums     []uint64
}

type maskRun struct {
	start, end int32
	before     int32 // masked elements before the run
	kind       uint8
}

// add appends a run.
func (m *mask) add(start, end int, kind uint8) {
	before := int32(0)
	if n := len(m.runs); n > 0 {
		r := m.runs[n-1]
		before = r.before + r.end - r.start
	}
	m.runs = append(m.runs, maskRun{int32(start), int32(end), before, kind})
}

// from returns the index of the first run that ends after element e.
func (m *mask) from(e int) int {
	if len(m.runs) == 0 || e < int(m.runs[0].end) {
		return 0
	}
	return sort.Search(len(m.runs), func(i int) bool { return int(m.runs[i].end) > e })
}

// rank returns how many elements before e are not masked.
func (m *mask) rank(e int) int {
	i := m.from(e)
	if i < len(m.runs) {
		r := m.runs[i]
		return e - int(r.before) - max(0, e-int(r.start))
	}
	if i == 0 {
		return e
	}
	r := m.runs[i-1]
	return e - int(r.before+r.end-r.start)
}

// at returns the kind of element e, and the end of its run as far as known. i is the
// number of a run that is not after e; it is advanced.
func (m *mask) at(e, known int, i *int) (kind, end int) {
	for *i < len(m.runs) && int(m.runs[*i].end) <= e {
		*i++
	}
	if *i == len(m.runs) {
		return 0, known
	}
	r := m.runs[*i]
	if e < int(r.start) {
		return 0, int(r.start)
	}
	return int(r.kind) + 1, int(r.end)
}

// A mask is stored as the lengths of runs that cover the block. A run has a step. Its
// elements have the kind of the element a distance before them plus this step, modulo
// the number of kinds. Without a distance the kind is the step. Kind 0 stands for
// unmasked elements. The step of a run is that of the previous run increased by 1, or
// with two specials by 1 or 2, according to the low bit of the number.

// numbers returns the stored numbers.
func (m *mask) numbers(dst []uint64, specials, dist, n int) []uint64 {
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

// shortest returns the distance between neighbours at which the mask probably takes the
// fewest bits, the numbers for it, and an estimate of their bits.
func (m *mask) shortest(s *shape) (dist int, nums []uint64, cost int) {
	m.setBits(s.n)
	least := m.changes(0)
	for _, d := range strides(s.dims) {
		if d == 1 {
			continue
		}
		if c := m.changes(d); c < least {
			dist, least = d, c
		}
	}
	m.nums = m.numbers(m.nums[:0], s.specials, dist, s.n)
	for _, x := range m.nums {
		cost += bits.Len64(x) + 2
	}
	return dist, m.nums, cost
}

// setBits sets m.bits to the masked elements, one bit each, with one set per kind.
func (m *mask) setBits(n int) {
	m.clearBits(n)
	for _, r := range m.runs {
		setRange(m.bits[r.kind], int(r.start), int(r.end))
	}
}

func (m *mask) clearBits(n int) {
	for k := range m.bits {
		m.bits[k] = entropy.Grow(m.bits[k], (n+63)/64)
		clear(m.bits[k])
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

// changes returns about how many runs the mask has, given that at a distance.
func (m *mask) changes(dist int) int {
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

// findSpecials decides which values are masked.
func findSpecials[T lane](s *shape, c *coder[T]) {
	s.specials, s.mask.runs = 0, s.mask.runs[:0]
	if s.n < 16 || s.lacks(Specials) {
		return
	}
	c.sample = sampleOf(c.sample, c.u)
	top, distinct := tally(c.sample, maxSpecials, &c.counts)
	other := len(c.sample)
	for _, f := range top {
		if f.n > other/50 {
			other -= f.n
		}
	}
	s.distinct = float64(distinct) / float64(max(1, other))
	var keep []T
	for _, f := range top {
		share := float64(f.n) / float64(len(c.sample))
		if share < 0.02 || distinct < 600 && share < 0.3 && !extreme(s.typ, uint64(f.v)) {
			continue
		}
		keep = append(keep, f.v)
	}
	for len(keep) > 0 {
		masked := buildRuns(&s.mask, c.u, keep)
		s.specials = len(keep)
		var cost int
		if s.dist, s.nums, cost = s.mask.shortest(s); cost < 3*masked {
			break
		}
		keep = keep[:len(keep)-1]
		s.mask.runs = s.mask.runs[:0]
	}
	s.specials = len(keep)
	for i, v := range keep {
		var b [8]byte
		binary.BigEndian.PutUint64(b[:], uint64(v))
		s.mask.patterns[i] = append([]byte(nil), b[8-s.size:]...)
	}
}

// extreme reports whether a value is one that files use for missing data.
func extreme(t Type, u uint64) bool {
	switch t {
	case Float32:
		return u<<1&(1<<32-1) >= 0x4E000000<<1
	case Float64:
		return u<<1 >= 0x41C0000000000000<<1
	case Int16:
		v := int16(u)
		return v <= -32000 || v >= 32000
	case Int32:
		v := int32(u)
		return v <= -1<<30 || v >= 1<<30
	}
	return false
}

// buildRuns sets the mask to the places of the values in keep and returns the number of
// masked elements.
func buildRuns[T lane](m *mask, u []T, keep []T) int {
	m.runs = m.runs[:0]
	a, b := keep[0], keep[len(keep)-1]
	masked := 0
	for i := 0; i < len(u); {
		v := u[i]
		if v != a && v != b {
			i++
			continue
		}
		j := i + 1
		for j < len(u) && u[j] == v {
			j++
		}
		kind := uint8(0)
		if v != a {
			kind = 1
		}
		m.add(i, j, kind)
		masked += j - i
		i = j
	}
	return masked
}

// ordered returns the lanes of mapOrder, masked ones filled with the value
// before them.
func ordered[T lane](dst, u []T, s *shape) []T {
	dst = entropy.Grow(dst, len(u))
	switch d := any(dst).(type) {
	case []uint32:
		order32(d, any(u).([]uint32), s.typ)
	case []uint64:
		order64(d, any(u).([]uint64), s.typ)
	}
	fillBefore(dst, &s.mask)
	return dst
}

// fillBefore sets masked elements to the element before them, or at the start to the
// one after them.
func fillBefore[T any](y []T, m *mask) {
	for _, r := range m.runs {
		from := int(r.start) - 1
		if from < 0 {
			from = 0
			if int(r.end) < len(y) {
				from = int(r.end)
			}
		}
		v := y[from]
		for i := r.start; i < r.end; i++ {
			y[i] = v
		}
	}
}
