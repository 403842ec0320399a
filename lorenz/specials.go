package lorenz

import (
	"encoding/binary"
	"math/bits"
)

// findSpecials decides which values are masked.
func findSpecials[T lane](s *shape, c *coder[T]) {
	s.specials, s.mask.runs = 0, s.mask.runs[:0]
	if s.n < 16 {
		return
	}
	c.sample = sampleOf(c.sample, c.u)
	top, distinct := tally(c.sample, maxSpecials)
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
		cost := 0
		for _, v := range s.mask.numbers(nil, len(keep), s.n) {
			cost += bits.Len64(v) + 2
		}
		if cost < 3*masked {
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

// buildRuns sets the mask to where the values of keep are and returns how many
// elements that are.
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
	dst = grow(dst, len(u))
	switch d := any(dst).(type) {
	case []uint32:
		order32(d, any(u).([]uint32), s.typ)
	case []uint64:
		order64(d, any(u).([]uint64), s.typ)
	}
	fillBefore(dst, &s.mask)
	return dst
}

// fillBefore sets masked elements to the one before them, at the start to the
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
