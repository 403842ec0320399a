package lorenz

import (
	"encoding/binary"
	"slices"

	"github.com/cdfz-format/cdfz/lorenz/internal/entropy"
	"github.com/cdfz-format/cdfz/lorenz/internal/masks"
)

// findSpecials decides which values are masked.
func findSpecials[T lane](s *shape, c *coder[T]) {
	s.specials, s.mask.Runs, s.head = 0, s.mask.Runs[:0], s.head[:0]
	if s.n < 16 {
		return
	}
	c.sample = sampleOf(c.sample, c.u, s.special.sample)
	top, distinct := c.tally(masks.MaxSpecials)
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
		if share < specialLeast || distinct < s.special.many && share < s.special.share && !extreme(s.typ, uint64(f.v)) {
			continue
		}
		keep = append(keep, f.v)
	}
	for len(keep) > 0 {
		masked := masks.Build(&s.mask, c.u, keep)
		s.specials = len(keep)
		var cost int
		if s.dist, s.nums, cost = s.mask.Shortest(strides(s.dims), s.specials, s.n); cost < 3*masked {
			break
		}
		keep = keep[:len(keep)-1]
		s.mask.Runs = s.mask.Runs[:0]
	}
	s.specials = len(keep)
	for i, v := range keep {
		var b [8]byte
		binary.BigEndian.PutUint64(b[:], uint64(v))
		s.mask.Patterns[i] = append([]byte(nil), b[8-s.size:]...)
	}
	s.setHead(&c.w.StreamWriter)
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

// lanesOf returns the lanes of mapOrder, masked ones filled with the value
// before them.
func lanesOf[T lane](dst, u []T, s *shape) []T {
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
func fillBefore[T any](y []T, m *masks.Mask) {
	for _, r := range m.Runs {
		from := int(r.Start) - 1
		if from < 0 {
			from = 0
			if int(r.End) < len(y) {
				from = int(r.End)
			}
		}
		v := y[from]
		run := y[r.Start:r.End]
		for i := range run {
			run[i] = v
		}
	}
}

// maxSample is the largest number of elements in a sample.
const maxSample = 2048

// sampleOf returns n elements spread over v, or all of them if there are no more.
func sampleOf[T lane](dst, v []T, n int) []T {
	dst = dst[:0]
	if len(v) <= n {
		return append(dst, v...)
	}
	// Steps of an odd fraction, so that the sample is not in phase with rows.
	for i := range n {
		at := (uint64(i)*2 + 1) * uint64(len(v)) / (2 * uint64(n))
		at ^= uint64(i) * 7 & 15
		dst = append(dst, v[min(at, uint64(len(v)-1))])
	}
	return dst
}

// frequent is a value and its frequency in a sample.
type frequent[T lane] struct {
	v T
	n int
}

// tally returns the most frequent values of the sample, at most max, and the number of
// different values. Equally frequent values are in the order of the sample.
func (c *coder[T]) tally(max int) (top []frequent[T], distinct int) {
	table, all := &c.counts, c.seen[:0]
	clear(table[:])
	for _, v := range c.sample {
		h := uint64(v) * 0x9E3779B97F4A7C15 >> (64 - 12)
		for table[h] != 0 && all[table[h]-1].v != v {
			h = (h + 1) % uint64(len(table))
		}
		if table[h] == 0 {
			all = append(all, frequent[T]{v, 0})
			table[h] = uint16(len(all))
		}
		all[table[h]-1].n++
	}
	c.seen = all
	for _, f := range all {
		at := len(top)
		for at > 0 && top[at-1].n < f.n {
			at--
		}
		if at < max {
			top = slices.Insert(top, at, f)
			top = top[:min(len(top), max)]
		}
	}
	return top, len(all)
}

// kinds returns about how many different values there are at least, by those of the sample of findSpecials that occur in it
// once and twice.
func (c *coder[T]) kinds() int {
	once, twice := 0, 0
	for _, f := range c.seen {
		switch f.n {
		case 1:
			once++
		case 2:
			twice++
		}
	}
	return len(c.seen) + once*once/(2*(twice+1))
}
