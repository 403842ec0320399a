package lorenz

import (
	"encoding/binary"
	"math"
	"slices"
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
		v := values(s, c.u)
		if t, ok := fixed[T](s, v); ok {
			out = append(out, t)
		}
		if t, ok := ratio[T](s, v); ok {
			out = append(out, t)
		}
		if s.typ == Float64 {
			if t, ok := single[T](s, v); ok {
				out = append(out, t)
			}
		}
	}
	if t, ok := dictionary(s, c); ok {
		out = append(out, t)
	}
	return out
}

// values returns the elements as doubles, masked ones filled.
func values[T lane](s *shape, u []T) []float64 {
	v := make([]float64, len(u))
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
	fillBefore(v, &s.mask)
	return v
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

// lanesOf builds a transformed block from integers. Elements that back does
// not restore become patches.
func lanesOf[T lane](s *shape, v []float64, k func(i int) float64, back func(i int, k float64) float64, wide float64) (t transformed[T], ok bool) {
	ints := make([]int64, len(v))
	prev, biggest := int64(0), int64(0)
	for i, x := range v {
		f := k(i)
		if !(f < wide && f > -wide) || !same(s.round(back(i, f)), x) {
			if !t.patch(s, i) {
				return t, false
			}
			ints[i] = prev
			continue
		}
		prev = int64(f)
		ints[i] = prev
		biggest = max(biggest, prev, -prev)
	}
	if biggest < 1<<31-1 {
		t.y32 = make([]uint32, len(v))
		for i, x := range ints {
			t.y32[i] = uint32(x)
		}
		return t, true
	}
	if s.size == 4 {
		return t, false
	}
	t.y = make([]T, len(v))
	for i, x := range ints {
		t.y[i] = T(x)
	}
	return t, true
}

// fixed tries mapFix.
func fixed[T lane](s *shape, v []float64) (transformed[T], bool) {
	low, high := math.MaxInt, math.MinInt
	for _, x := range v {
		if x == 0 || math.IsInf(x, 0) || x != x {
			continue
		}
		f, e := math.Frexp(x)
		z := e - 53 + trailing(f)
		low, high = min(low, z), max(high, e)
		if high-low > 52 {
			return transformed[T]{}, false
		}
	}
	if low > high || s.size == 4 && high-low > 31 {
		return transformed[T]{}, false
	}
	scale := math.Ldexp(1, low)
	t, ok := lanesOf[T](s, v, func(i int) float64 { return math.Ldexp(v[i], -low) },
		func(i int, k float64) float64 { return k * scale }, 1<<52)
	t.kind, t.params = mapFix, binary.LittleEndian.AppendUint16(nil, uint16(int16(low)))
	return t, ok
}

// trailing returns the trailing zeros of a mantissa of 53 bits.
func trailing(f float64) int {
	m := math.Float64bits(f)&(1<<52-1) | 1<<52
	z := 0
	for m&1 == 0 {
		m >>= 1
		z++
	}
	return z
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

// dictionary tries mapDict.
func dictionary[T lane](s *shape, c *coder[T]) (t transformed[T], ok bool) {
	total := s.mask.rank(s.n)
	if total < 64 {
		return t, false
	}
	c.sample = sampleOf(c.sample, c.y)
	if _, d := tally(c.sample, 0); d*100 > len(c.sample)*97 {
		return t, false
	}
	index := make(map[T]uint32)
	for _, y := range c.y {
		if _, ok := index[y]; !ok {
			if len(index) > total*3/4 {
				return t, false
			}
			index[y] = uint32(len(index))
		}
	}
	dict := make([]T, 0, len(index))
	for y := range index {
		dict = append(dict, y)
	}
	if s.typ.signed() {
		slices.SortFunc(dict, func(a, b T) int {
			x, y := signed(a), signed(b)
			switch {
			case x < y:
				return -1
			case x > y:
				return 1
			}
			return 0
		})
	} else {
		slices.Sort(dict)
	}
	for i, y := range dict {
		index[y] = uint32(i)
	}
	t.kind = mapDict
	t.y32 = make([]uint32, s.n)
	for i, y := range c.y {
		t.y32[i] = index[y]
	}
	gaps := make([]T, len(dict))
	var prev T
	for i, y := range dict {
		gaps[i] = y - prev
		prev = y
	}
	var w groupWriter[T]
	w.dst = appendUvarint([]byte{dictSorted}, uint64(len(dict)))
	w.write(gaps, true)
	t.params = w.dst
	t.cost = float64(8 * len(t.params))
	return t, true
}

// signed returns a lane as a signed number.
func signed[T lane](v T) int64 {
	if laneBits[T]() == 32 {
		return int64(int32(uint32(v)))
	}
	return int64(v)
}
