package lorenz

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"

	"github.com/cdfz-format/cdfz/lorenz/internal/dictionary"
	"github.com/cdfz-format/cdfz/lorenz/internal/divisors"
	"github.com/cdfz-format/cdfz/lorenz/internal/entropy"
	"github.com/cdfz-format/cdfz/lorenz/internal/kernels"
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

// transforms returns the results of transforms other than mapOrder on a block.
func transforms[T lane](s *shape, c *coder[T]) []transformed[T] {
	var out []transformed[T]
	may := c.possible(s)
	if may.divisor > 0 {
		if t, ok := ratio(s, c, may.divisor); ok {
			out = append(out, t)
			may.fixed = may.fixed && s.all
		}
	}
	if may.fixed {
		if t, ok := fixed(s, c, may.low); ok {
			out = append(out, t)
		}
	}
	if may.single {
		if t, ok := single(s, c); ok {
			out = append(out, t)
		}
	}
	return out
}

// possible are the transforms that suit a sample.
type possible struct {
	divisor float64 // of mapRatio, or 0
	fixed   bool
	low     int // exponent of mapFix
	single  bool
}

func (c *coder[T]) possible(s *shape) (p possible) {
	if !s.typ.float() || s.n < 8 {
		return p
	}
	c.sample = sampleOf(c.sample, c.y, maxSample)
	c.vals = asValues(s, c.vals, bitsOf(c.sample, s))
	low, span := spread(c.vals, s.widest())
	p = possible{divisors.Find(c.vals, s.typ == Float32), span <= s.widest(), low, s.typ == Float64 && mostlySingle(c.vals)}
	// The transform to the smaller integers is enough, if it fits.
	if !s.all && p.fixed && math.Ldexp(p.divisor, low) >= 1 {
		p.divisor = 0
	}
	return p
}

// widest returns the most bits that the integers of mapFix can have.
func (s *shape) widest() int {
	if s.size == 8 {
		return 52
	}
	return 31
}

// value returns the number whose lane of mapOrder is y.
func value[T lane](y T) float64 {
	if entropy.LaneBits[T]() == 32 {
		return float64(math.Float32frombits(kernels.Unordered(uint32(y))))
	}
	return math.Float64frombits(kernels.Unordered(uint64(y)))
}

// bitsOf turns lanes of mapOrder into the bits of floats.
func bitsOf[T lane](y []T, s *shape) []T {
	switch y := any(y).(type) {
	case []uint32:
		for i, v := range y {
			y[i] = kernels.Unordered(v)
		}
	case []uint64:
		for i, v := range y {
			y[i] = kernels.Unordered(v)
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

// spread returns the exponent of the lowest bit set in any value, and the distance to
// the highest one. NaN and infinities are ignored. Without any other value, or if the
// distance is larger than most, it is larger than any.
func spread(v []float64, most int) (low, span int) {
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
		if high-low > most {
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
		if !divisors.Same(float64(float32(x)), x) {
			miss++
		}
	}
	return miss <= len(v)/nearSingle
}

// integers collects the lanes of a transform to integers.
type integers[T lane] struct {
	transformed[T]
	ints     []T
	low, top int64 // for doubles
}

// newIntegers returns integers with a buffer for n elements.
func newIntegers[T lane](c *coder[T], kind byte, n int) (t integers[T]) {
	t.kind = kind
	if narrow, ok := any(c.lanes32(kind, n)).([]T); ok {
		t.ints = narrow
		return t
	}
	c.ints = entropy.Grow(c.ints, n)
	t.ints = c.ints
	return t
}

// set sets element i.
func (t *integers[T]) set(i int, k int64) {
	t.ints[i] = T(k)
	t.low, t.top = min(t.low, k), max(t.top, k)
}

// lanes returns the transformed block.
func (t *integers[T]) lanes(s *shape, c *coder[T]) transformed[T] {
	if narrow, ok := any(t.ints).([]uint32); ok {
		t.y32 = narrow
		return t.transformed
	}
	if t.low > -1<<31 && t.top < 1<<31-1 {
		t.y32 = c.lanes32(t.kind, s.n)
		for i, x := range t.ints {
			t.y32[i] = uint32(x)
		}
		return t.transformed
	}
	t.y = append([]T(nil), t.ints...)
	return t.transformed
}

// miss makes element i a patch.
func (t *integers[T]) miss(s *shape, i int) bool {
	t.ints[i] = 0
	if i > 0 {
		t.ints[i] = t.ints[i-1]
	}
	return t.patch(s, i)
}

// lanes32 returns a buffer for the lanes of a transform.
func (c *coder[T]) lanes32(kind byte, n int) []uint32 {
	c.narrow[kind] = entropy.Grow(c.narrow[kind], n)
	return c.narrow[kind]
}

// fixed tries mapFix. low is the exponent of the lowest bit set in a sample.
func fixed[T lane](s *shape, c *coder[T], low int) (t transformed[T], ok bool) {
	for {
		t, next, ok := c.fixedAt(s, low)
		if ok || next >= low {
			return t, ok
		}
		low = next
	}
}

// fixedAt tries mapFix with an exponent. If it does not fit, next is a smaller one that
// may, or low if there is none.
func (c *coder[T]) fixedAt(s *shape, low int) (t transformed[T], next int, ok bool) {
	// Scaling by powers of two is exact, in two steps where one would overflow.
	up, rest := math.Ldexp(1, min(-low, 1000)), math.Ldexp(1, max(0, -low-1000))
	x := newIntegers(c, mapFix, s.n)
	limit := math.Ldexp(1, s.widest())
	for i := 0; i < s.n; i++ {
		if narrow, ok := any(x.ints[i:]).([]uint32); ok && rest == 1 {
			if i += kernels.Multiples(narrow, any(c.y[i:s.n]).([]uint32), up); i == s.n {
				break
			}
		}
		f := value(c.y[i])
		k := f * up * rest
		n := int64(k)
		if float64(n) == k && k < limit && k > -limit && (n != 0 || math.Float64bits(f) == 0) {
			x.set(i, n)
			continue
		}
		if l, span := spread([]float64{f}, 52); span < 99 && l < low {
			if all, span := spread(c.values(s), s.widest()); span <= s.widest() {
				return t, all, false
			}
			return t, low, false
		}
		if !x.miss(s, i) {
			return t, low, false
		}
	}
	x.params = binary.LittleEndian.AppendUint16(nil, uint16(int16(low)))
	return x.lanes(s, c), low, true
}

// values returns the elements as doubles, masked ones filled.
func (c *coder[T]) values(s *shape) []float64 {
	c.vals = entropy.Grow(c.vals, s.n)
	for i, y := range c.y[:s.n] {
		c.vals[i] = value(y)
	}
	return c.vals
}

// ratio tries mapRatio: values that are quotients of integers and a common
// divisor, after rounding.
func ratio[T lane](s *shape, c *coder[T], d float64) (t transformed[T], ok bool) {
	limit := float64(1 << 24)
	if s.size == 8 {
		limit = 1 << 51
	}
	x := newIntegers(c, mapRatio, s.n)
	for i := 0; i < s.n; i++ {
		if narrow, ok := any(x.ints[i:]).([]uint32); ok {
			if i += kernels.Numerators(narrow, any(c.y[i:s.n]).([]uint32), d); i == s.n {
				break
			}
		}
		const half = 3 << 51 // added and subtracted, it rounds to an integer
		f := value(c.y[i])
		k := float64(float64(f*d)+half) - half
		if k < limit && k > -limit && divisors.Same(divisors.Round(k/d, s.typ == Float32), f) {
			x.set(i, int64(k))
		} else if !x.miss(s, i) {
			return t, false
		}
	}
	x.params = entropy.AppendUvarint(nil, uint64(d))
	return x.lanes(s, c), true
}

// single tries mapSingle.
func single[T lane](s *shape, c *coder[T]) (t transformed[T], ok bool) {
	t.kind, t.y32 = mapSingle, c.lanes32(mapSingle, s.n)
	prev := uint32(0)
	for i, y := range c.y[:s.n] {
		x := value(y)
		if f := float32(x); divisors.Same(float64(f), x) {
			prev = kernels.Ordered(math.Float32bits(f))
		} else if !t.patch(s, i) {
			return t, false
		}
		t.y32[i] = prev
	}
	return t, true
}

// patch records that element i is stored separately. It returns false if too many are.
func (t *transformed[T]) patch(s *shape, i int) bool {
	t.patches = append(t.patches, int32(i))
	t.cost += float64(8*s.size + 10)
	return len(t.patches) <= 2+s.n/mostPatches
}

// recurs reports whether the values of a block recur so often that a dictionary may pay off.
func (s *shape) recurs() bool {
	return s.mask.Rank(s.n) >= 64 && s.distinct <= s.mostDistinct
}

// withDictionary tries mapDict. It gives up if the entries alone take half of limit,
// the bits of the best other transform.
func withDictionary[T lane](s *shape, c *coder[T], limit float64) (t transformed[T], ok bool) {
	total := s.mask.Rank(s.n)
	low, high := c.y[0], c.y[0]
	for i := 0; i < s.n; i += 16 {
		low, high = min(low, c.y[i]), max(high, c.y[i])
	}
	dear := func(n int) bool { return float64(n*bits.Len64(uint64(high-low)/uint64(n))) > limit/2 }
	most := min(total*3/4, maxDict)
	for most > 64 && dear(most) { // more would be given up below
		most -= most / 64
	}
	if c.kinds() > most+most/2 {
		return t, false
	}
	t.y32 = c.lanes32(mapDict, s.n)
	dict := dictionary.Number(t.y32, c.y, most, &c.table)
	if dict == nil {
		return t, false
	}
	t.kind = mapDict
	low, high = slices.Min(dict), slices.Max(dict)
	if dear(len(dict)) {
		return t, false
	}
	// From the order of first use to the sorted one.
	dict, rank := dictionary.Sorted(dict, s.typ.signed())
	for i, k := range t.y32 {
		t.y32[i] = rank[k]
	}
	gaps := make([]T, len(dict))
	var prev T
	for i, y := range dict {
		gaps[i] = y - prev
		prev = y
	}
	var w entropy.GroupWriter[T]
	w.Dst = entropy.AppendUvarint(nil, uint64(len(dict)))
	w.Write(gaps, true)
	t.params = w.Dst
	t.cost = float64(8 * len(t.params))
	return t, true
}

// full reports whether integers take so many of the values in their range that a dictionary
// would save less than its entries take, or than a 64th of limit bits.
func (c *coder[T]) full(s *shape, y []uint32, limit float64) bool {
	low, high := int32(y[0]), int32(y[0])
	for _, v := range y {
		low, high = min(low, int32(v)), max(high, int32(v))
	}
	span := int(high) - int(low) + 1
	if span > 8*len(y) {
		return false
	}
	c.table = entropy.Grow(c.table, (span+31)/32)
	clear(c.table)
	for _, v := range y {
		k := v - uint32(low)
		c.table[k>>5] |= 1 << (k & 31)
	}
	distinct := 0
	for _, w := range c.table {
		distinct += bits.OnesCount32(w)
	}
	saved := float64(s.mask.Rank(s.n)) * float64(entropy.Log2(uint64(span))-entropy.Log2(uint64(distinct))) / (1 << entropy.LogFrac)
	return saved < max(float64(distinct), limit/64)
}
