package lorenz

import (
	"cmp"
	"encoding/binary"
	"math"
	"math/bits"
	"slices"

	"github.com/cdfz-format/cdfz/lorenz/internal/entropy"
)

// transformed is a block after a value transform, in lanes of one width.
type transformed[T lane] struct {
	kind    byte
	params  []byte
	patches []int32
	y32     []uint32
	y       []T
	cost    float64 // of parameters and patches, in bits
}

// transforms returns what transforms other than mapOrder make of a block.
func transforms[T lane](s *shape, c *coder[T]) []transformed[T] {
	var out []transformed[T]
	if s.typ.float() && s.n >= 8 {
		c.sample = sampleOf(c.sample, c.y)
		few := asValues(s, nil, bitsOf(c.sample, s))
		_, span := spread(few)
		d := divisor(s, few)
		isSingle := s.typ == Float64 && mostlySingle(few)
		var v []float64
		if span <= 31 || s.size == 8 && span <= 52 || d > 0 || isSingle {
			c.vals = asValues(s, c.vals, c.u)
			v = c.vals
			fillBefore(v, &s.mask)
		}
		if span <= 31 || s.size == 8 && span <= 52 {
			if t, ok := fixed(s, c, v); ok {
				out = append(out, t)
			}
		}
		if d > 0 {
			if t, ok := ratio(s, c, v, d); ok {
				out = append(out, t)
			}
		}
		if isSingle {
			if t, ok := single[T](s, v); ok {
				out = append(out, t)
			}
		}
	}
	return out
}

// bitsOf turns lanes of mapOrder into the bits of floats.
func bitsOf[T lane](y []T, s *shape) []T {
	switch y := any(y).(type) {
	case []uint32:
		for i, v := range y {
			y[i] = bits32(v)
		}
	case []uint64:
		for i, v := range y {
			y[i] = bits64(v)
		}
	}
	return y
}

// asValues returns floats as doubles.
func asValues[T lane](s *shape, v []float64, u []T) []float64 {
	v = entropy.Grow(v, len(u))
	switch u := any(u).(type) {
	case []uint32:
		for i, x := range u {
			v[i] = float64(math.Float32frombits(x))
		}
	case []uint64:
		for i, x := range u {
			v[i] = math.Float64frombits(x)
		}
	}
	return v
}

// spread returns the exponent of the lowest bit that is set in any value, and
// how many bits above it the highest one is. Values that are no numbers are
// ignored; without any other value the span is larger than any.
func spread(v []float64) (low, span int) {
	low, high := math.MaxInt, math.MinInt
	for _, x := range v {
		u := math.Float64bits(x)
		e := int(u >> 52 & 2047)
		m := u & (1<<52 - 1)
		switch {
		case e == 2047 || u<<1 == 0:
			continue
		case e == 0:
			e = 1
		default:
			m |= 1 << 52
		}
		low = min(low, e+bits.TrailingZeros64(m))
		high = max(high, e+bits.Len64(m))
		if high-low > 52 {
			return 0, 99
		}
	}
	if high < low {
		return 0, 99
	}
	return low - 1075, high - low
}

// mostlySingle reports whether most doubles of a sample are floats.
func mostlySingle(v []float64) bool {
	miss := 0
	for _, x := range v {
		if !same(float64(float32(x)), x) {
			miss++
		}
	}
	return miss <= len(v)/32
}

// round rounds v to the type of the elements.
func (s *shape) round(v float64) float64 {
	if s.typ == Float32 {
		return float64(float32(v))
	}
	return v
}

// same reports whether two values have the same bits and are not NaN, whose bits
// a conversion may change.
func same(a, b float64) bool { return a == a && math.Float64bits(a) == math.Float64bits(b) }

// integers collects the lanes of a transform.
type integers[T lane] struct {
	transformed[T]
	ints    []int64
	prev    int64
	biggest int64
}

// lanes returns the transformed block. It reports false if the integers are too
// large.
func (t *integers[T]) lanes(s *shape) (transformed[T], bool) {
	if t.biggest < 1<<31-1 {
		t.y32 = make([]uint32, len(t.ints))
		for i, x := range t.ints {
			t.y32[i] = uint32(x)
		}
		return t.transformed, true
	}
	if s.size == 4 {
		return t.transformed, false
	}
	t.y = make([]T, len(t.ints))
	for i, x := range t.ints {
		t.y[i] = T(x)
	}
	return t.transformed, true
}

// add appends element i: an integer, or a patch.
func (t *integers[T]) add(s *shape, i int, k float64, ok bool) bool {
	if ok {
		t.prev = int64(k)
		t.biggest = max(t.biggest, t.prev, -t.prev)
	} else if !t.patch(s, i) {
		return false
	}
	t.ints[i] = t.prev
	return true
}

// fixed tries mapFix.
func fixed[T lane](s *shape, c *coder[T], v []float64) (t transformed[T], ok bool) {
	low, span := spread(v)
	if span > 52 || s.size == 4 && span > 31 {
		return t, false
	}
	// Scaling by powers of two is exact, in two steps where one would overflow.
	up, rest := math.Ldexp(1, min(-low, 1000)), math.Ldexp(1, max(0, -low-1000))
	x := integers[T]{ints: c.integers(s.n)}
	const limit = 1 << 52
	for i, f := range v {
		k := f * up * rest
		if !x.add(s, i, k, k < limit && k > -limit && same(float64(int64(k)), k)) {
			return t, false
		}
	}
	x.kind, x.params = mapFix, binary.LittleEndian.AppendUint16(nil, uint16(int16(low)))
	return x.lanes(s)
}

// integers returns a buffer.
func (c *coder[T]) integers(n int) []int64 {
	c.ints = entropy.Grow(c.ints, n)
	return c.ints
}

// single tries mapSingle.
func single[T lane](s *shape, v []float64) (t transformed[T], ok bool) {
	t.kind, t.y32 = mapSingle, make([]uint32, len(v))
	prev := uint32(0)
	for i, x := range v {
		if f := float32(x); same(float64(f), x) {
			prev = ordered32(math.Float32bits(f))
		} else if !t.patch(s, i) {
			return t, false
		}
		t.y32[i] = prev
	}
	return t, true
}

// patch notes that element i is stored apart. It reports false if too many are.
func (t *transformed[T]) patch(s *shape, i int) bool {
	t.patches = append(t.patches, int32(i))
	t.cost += float64(8*s.size + 10)
	return len(t.patches) <= 2+s.n/64
}

// dictionary tries mapDict. It gives up if the entries alone take half of limit
// bits.
func dictionary[T lane](s *shape, c *coder[T], limit float64) (t transformed[T], ok bool) {
	total := s.mask.rank(s.n)
	if total < 64 {
		return t, false
	}
	if s.distinct > 0.985 {
		return t, false
	}
	t.y32 = make([]uint32, s.n)
	dict := number(t.y32, c.y, total*3/4, &c.table)
	if dict == nil {
		return t, false
	}
	low, high := slices.Min(dict), slices.Max(dict)
	if n := len(dict); float64(n*bits.Len64(uint64(high-low)/uint64(n))) > limit/2 {
		return t, false
	}
	// From the order of first use to the sorted one.
	dict, rank := sorted(dict, s.typ)
	for i, k := range t.y32 {
		t.y32[i] = rank[k]
	}
	t.kind = mapDict
	gaps := make([]T, len(dict))
	var prev T
	for i, y := range dict {
		gaps[i] = y - prev
		prev = y
	}
	var w entropy.GroupWriter[T]
	w.Dst = entropy.AppendUvarint([]byte{dictSorted}, uint64(len(dict)))
	w.Write(gaps, true)
	t.params = w.Dst
	t.cost = float64(8 * len(t.params))
	return t, true
}

// sorted sorts lanes as numbers of a type and returns the new place of each.
func sorted[T lane](v []T, t Type) ([]T, []uint32) {
	flip := T(0)
	if t.signed() {
		flip = 1 << (entropy.LaneBits[T]() - 1)
	}
	rank, out := make([]uint32, len(v)), make([]T, len(v))
	if entropy.LaneBits[T]() == 32 {
		keys := make([]uint64, len(v))
		for i, x := range v {
			keys[i] = uint64(x^flip)<<32 | uint64(i)
		}
		slices.Sort(keys)
		for k, x := range keys {
			rank[uint32(x)] = uint32(k)
			out[k] = v[uint32(x)]
		}
		return out, rank
	}
	at := make([]uint32, len(v))
	for i := range at {
		at[i] = uint32(i)
	}
	slices.SortFunc(at, func(a, b uint32) int { return cmp.Compare(v[a]^flip, v[b]^flip) })
	for k, i := range at {
		rank[i] = uint32(k)
		out[k] = v[i]
	}
	return out, rank
}

// number replaces values by their numbers in the order of first use, and returns
// the different values, nil if there are more than most.
func number[T lane](dst []uint32, v []T, most int, table *[]uint32) []T {
	size := 10
	for 1<<size < 2*min(most, len(v)) {
		size++
	}
	*table = entropy.Grow(*table, 1<<size)
	t := *table
	clear(t)
	var all []T
	for i, x := range v {
		h := uint64(x) * 0x9E3779B97F4A7C15 >> (64 - size)
		for t[h] != 0 && all[t[h]-1] != x {
			h = (h + 1) & (1<<size - 1)
		}
		if t[h] == 0 {
			if len(all) >= most {
				return nil
			}
			all = append(all, x)
			t[h] = uint32(len(all))
		}
		dst[i] = t[h] - 1
	}
	return all
}
