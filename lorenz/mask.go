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

// expand writes residuals to y, which starts at element at, and 0 for masked
// elements.
func expand[T lane](m *mask, y, res []T, at int) {
	i := m.from(at)
	for e := 0; e < len(y); i++ {
		start, end := len(y), len(y)
		if i < len(m.runs) {
			start = min(max(int(m.runs[i].start)-at, e), len(y))
			end = min(int(m.runs[i].end)-at, len(y))
		}
		res = res[copy(y[e:start], res):]
		clear(y[start:end])
		e = end
	}
}

// stamp writes the patterns over masked elements. dst starts at element at.
func (m *mask) stamp(dst []byte, size, at int) {
	for i := m.from(at); i < len(m.runs); i++ {
		r := m.runs[i]
		start, end := max(int(r.start)-at, 0)*size, min((int(r.end)-at)*size, len(dst))
		if start >= end {
			return
		}
		fillElements(dst[start:end], m.patterns[r.kind])
	}
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

// set builds the mask from the stored numbers. It reports whether they cover
// exactly n elements.
func (m *mask) set(nums []uint64, specials, dist, n int) bool {
	m.runs = m.runs[:0]
	if dist >= 64 {
		if !m.set(nums, specials, 0, n) {
			return false
		}
		m.setBits(n)
		m.sumBits(specials, dist, n)
		m.setRuns()
		return true
	}
	at, step, ref := 0, specials, 0
	for i, v := range nums {
		if specials == 2 {
			step = (step + 1 + int(v&1)) % 3
			v >>= 1
		} else {
			step ^= 1
		}
		if v > uint64(n-at) || v == 0 && i > 0 {
			return false
		}
		for last := at + int(v); at < last; {
			kind, end := 0, last
			if dist > 0 && at < dist {
				end = min(last, dist)
			} else if dist > 0 {
				kind, end = m.at(at-dist, at, &ref)
				end = min(end+dist, last)
			}
			if kind = (kind + step) % (specials + 1); kind > 0 {
				m.extend(at, end, uint8(kind-1))
			}
			at = end
		}
	}
	return at == n
}

// extend appends a run, or lengthens the last one.
func (m *mask) extend(start, end int, kind uint8) {
	if n := len(m.runs); n > 0 && m.runs[n-1].kind == kind && int(m.runs[n-1].end) == start {
		m.runs[n-1].end = int32(end)
		return
	}
	m.add(start, end, kind)
}

// numbers returns the numbers that set expects.
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
	words := (n + 63) / 64
	for k := range m.bits {
		m.bits[k] = entropy.Grow(m.bits[k], words)
		clear(m.bits[k])
	}
	for _, r := range m.runs {
		w := m.bits[r.kind]
		i, last := int(r.start)>>6, int(r.end-1)>>6
		first, end := ^uint64(0)<<(r.start&63), ^uint64(0)>>(-r.end&63)
		if i == last {
			w[i] |= first & end
			continue
		}
		w[i] |= first
		for i++; i < last; i++ {
			w[i] = ^uint64(0)
		}
		w[last] |= end
	}
}

// sumBits turns steps into kinds: it adds to each element the kind of the one
// dist before it, modulo 2 or with two specials 3. dist is at least 64.
func (m *mask) sumBits(specials, dist, n int) {
	a, b := m.bits[0], m.bits[1]
	words, shift := dist>>6, uint(dist&63)
	for i := words; i < len(a); i++ {
		p, q := a[i-words]<<shift, b[i-words]<<shift
		if i > words {
			p |= a[i-words-1] >> (64 - shift)
			q |= b[i-words-1] >> (64 - shift)
		}
		s, t := a[i], b[i]
		a[i] = s&^(p|q) | p&^(s|t) | t&q
		b[i] = t&^(p|q) | q&^(s|t) | s&p
		if specials == 1 {
			b[i] = 0
		}
	}
	last := len(a) - 1
	a[last] &= ^uint64(0) >> (-n & 63)
	b[last] &= ^uint64(0) >> (-n & 63)
}

// setRuns sets the runs from the bits.
func (m *mask) setRuns() {
	runs := m.runs[:0]
	last := maskRun{start: -1, end: -1}
	for i, a := range m.bits[0] {
		b := m.bits[1][i]
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
			if at != last.end || kind != last.kind {
				if last.end >= 0 {
					runs = append(runs, last)
				}
				last = maskRun{start: at, before: last.before + last.end - last.start, kind: kind}
			}
			at += int32(k)
			last.end = at
			a, b = a>>k, b>>k
		}
	}
	if last.end >= 0 {
		runs = append(runs, last)
	}
	m.runs = runs
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
	if s.n < 16 {
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
