package contexts

import (
	"encoding/binary"
	"math"
	"math/bits"

	"github.com/cdfz-format/cdfz/lorenz/internal/entropy"
)

// Run is a range of elements that are masked.
type Run struct{ Start, End int }

// Encoder encodes blocks. It keeps its memory from block to block.
type Encoder[T entropy.Lane] struct {
	shape   Shape
	r       []T     // residuals, in the order of the positions
	turned  []T     // buffer for these
	class   []uint8 // of the positions
	active  []bool  // by position; nil if none is masked
	masks   []bool  // buffer for these
	coded   int     // residuals
	mags    []float32
	signs   []uint8
	logs    []uint8 // classes; these three have two columns on both sides, and a row before the first
	sums    []float32
	context []uint8 // of each position
	zeros   []uint8

	model  model
	words  []uint16
	bins   [expectRange]uint8
	counts [mostBins][128]uint32
}

// mostBins is how many ranges of E are compared to make contexts.
const mostBins = 48

// model is what an encoder chooses.
type model struct {
	weights    weights
	boundaries []int // the first is 0
	expect     [expectRange]uint8
	tables     [mostTables]table
	signs      [81][3]uint32
}

// table is that of a context.
type table struct {
	first  int
	levels []int
	start  [128]uint32 // the first slot of each class
	size   [128]uint32
}

// place returns the place of element c of a row in mags, signs and logs.
func (e *Encoder[T]) place(row, c int) int { return (row+1)*(e.shape.row+2*halo) + halo + c }

// Load prepares to encode the residuals r of all elements. It refers to r until the next call.
func (e *Encoder[T]) Load(r []T, s Shape, masked []Run) {
	e.shape, e.r, e.active, e.coded = s, r, nil, len(r)
	if s.turned {
		e.turned = entropy.Grow(e.turned, len(r))
		for g := range s.rows {
			line := e.turned[g*s.row : (g+1)*s.row]
			for i := range line {
				line[i] = r[i*s.rows+g]
			}
		}
		e.r = e.turned
	}
	if len(masked) > 0 {
		e.masks = entropy.Grow(e.masks, len(r))
		e.active = e.masks
		for i := range e.active {
			e.active[i] = true
		}
		for _, m := range masked {
			e.coded -= m.End - m.Start
			for i := m.Start; i < m.End; i++ {
				p := i
				if s.turned {
					p = i%s.rows*s.row + i/s.rows
				}
				e.active[p] = false
			}
		}
	}
	size := (s.rows + 1) * (s.row + 2*halo)
	e.class = entropy.Grow(e.class, len(r))
	e.mags, e.signs, e.logs = entropy.Grow(e.mags, size), entropy.Grow(e.signs, size), entropy.Grow(e.logs, size)
	clear(e.mags[:s.row+2*halo])
	clear(e.logs[:s.row+2*halo])
	for i := range e.signs[:s.row+2*halo] {
		e.signs[i] = none
	}
	for g := range s.rows {
		e.loadRow(g)
	}
}

// loadRow sets the classes of a row, and its magnitudes and signs as neighbours.
func (e *Encoder[T]) loadRow(g int) {
	s := e.shape
	at := e.place(g, 0)
	logs, mags, signs := e.logs[at-halo:at+s.row+halo], e.mags[at-halo:at+s.row+halo], e.signs[at-halo:at+s.row+halo]
	p := g * s.row
	for c, v := range e.r[p : p+s.row] {
		x := signed(v)
		neg := x >> 63
		k := classOf(uint64(x^neg) - uint64(neg))
		e.class[p+c] = k
		sign := uint8(none)
		if x != 0 {
			sign = uint8(positive + positive*neg)
		}
		logs[halo+c], mags[halo+c], signs[halo+c] = k, magnitudes[k], sign
	}
	if e.active != nil {
		s.eachStripe(func(start, n int) {
			last := e.logs[e.place(g-1, start)]
			for c := start; c < start+n; c++ {
				if !e.active[p+c] {
					e.class[p+c] = 0
					logs[halo+c], mags[halo+c], signs[halo+c] = last, magnitudes[last], none
				}
				last = logs[halo+c]
			}
		})
	}
	for k := range halo {
		logs[k], mags[k], signs[k] = logs[halo], mags[halo], signs[halo]
		end := halo + s.row
		logs[end+k], mags[end+k], signs[end+k] = logs[end-1], mags[end-1], signs[end-1]
	}
}

// magnitudes of all classes.
var magnitudes = func() (m [128]float32) {
	for i := range m {
		m[i] = magnitude(uint8(i))
	}
	return m
}()

// eachStripe visits the stripes of a row.
func (s Shape) eachStripe(visit func(start, n int)) {
	seg, longer := s.steps()
	start := 0
	for q := range stripes {
		n := seg
		if q < longer {
			n++
		}
		visit(start, n)
		start += n
	}
}

// sampled is how many residuals weights are fitted to.
const sampled = 1500

// Estimate fits weights and contexts, and returns about how many bytes the block will take. It reads the classes of
// some of the rows only.
func (e *Encoder[T]) Estimate() int {
	e.fit()
	// Rows at even distances, of about as many elements as pay off.
	const enough = 8000
	step := max(1, e.shape.N()/enough)
	step = min(step, max(1, e.shape.rows/8))
	used := e.bin(step)
	if used == 0 {
		return math.MaxInt
	}
	classes := int(e.merge(used) >> logFrac)
	return (classes+e.lowBits()+e.signBits(step))/8 + headBytes
}

// headBytes is about what the parts of a block with a fixed length take.
const headBytes = 4*stripes + 2 + mostTaps + 8

// lowBits chooses whether groups have trailing zeros, and returns how many low bits there are, and zeros.
func (e *Encoder[T]) lowBits() int {
	e.zeros = e.zeros[:0]
	plain, count, sum := 0, 0, 0
	for at := 0; at < len(e.r); at += entropy.GroupLen {
		var or T
		end := min(at+entropy.GroupLen, len(e.r))
		for p := at; p < end; p++ {
			if k := e.class[p]; k > 0 {
				or |= e.r[p]
				plain += int(lowBits(k))
			}
		}
		t := uint8(0)
		if or != 0 {
			t = uint8(bits.TrailingZeros64(uint64(or)))
			count, sum = count+1, sum+int(t)
		} else if len(e.zeros) > 0 {
			t = e.zeros[len(e.zeros)-1]
		}
		e.zeros = append(e.zeros, t)
	}
	if 4*sum <= count {
		e.zeros = e.zeros[:0]
		return plain
	}
	total, last := 0, 0
	for g, t := range e.zeros {
		total += 2 + 2*max(int(t)-last, last-int(t))
		last = int(t)
		for _, k := range e.class[g*entropy.GroupLen : min((g+1)*entropy.GroupLen, len(e.class))] {
			if b := lowBits(k); b > uint(t) {
				total += int(b) - int(t)
			}
		}
	}
	if total >= plain {
		e.zeros = e.zeros[:0]
		return plain
	}
	return total
}

// expectations sets sums to what the weights say of the elements of a row.
func (e *Encoder[T]) expectations(g int) []float32 {
	s := e.shape
	e.sums = entropy.Grow(e.sums, s.row)
	sums := e.sums
	clear(sums)
	w := &e.model.weights
	for i, t := range s.taps() {
		if w.taps[i] > 0 {
			addTimes(sums, e.mags[e.place(before(g, t.rows), t.col):], float32(w.taps[i]))
		}
	}
	mags, north := e.mags[e.place(g, 0):], e.mags[e.place(g-1, 0):]
	a1, a2 := float32(w.w), float32(w.ww)
	s.eachStripe(func(start, n int) {
		m1 := north[start]
		m2 := m1
		for c := start; c < start+n; c++ {
			v := sums[c] + a2*m2
			v += 1
			v += a1 * m1
			sums[c] = v
			m2, m1 = m1, mags[c]
		}
	})
	return sums
}

// expectation returns E.
func expectation(v float32) int { return int(math.Float32bits(v)>>19-octaves) % expectRange }

// bin counts the classes for each range of E in every row of a step, and returns how many residuals it counted. The
// ranges have about equally many.
func (e *Encoder[T]) bin(step int) int {
	s := e.shape
	var hist [expectRange]uint32
	used := 0
	e.context = entropy.Grow(e.context, s.N())
	if cap(e.words) < s.N() {
		e.words = make([]uint16, s.N())
	}
	of := e.words[:s.N()] // E of each position; the words come later
	e.eachRow(step, func(g int) {
		sums := e.expectations(g)
		p := g * s.row
		for c, v := range sums {
			x := expectation(v)
			of[p+c] = uint16(x)
			if e.active == nil || e.active[p+c] {
				hist[x]++
				used++
			}
		}
	})
	last, sum := 0, 0
	for x, n := range hist {
		e.bins[x] = uint8(last)
		sum += int(n)
		if n > 0 && last < mostBins-1 && sum*mostBins >= used {
			last++
			sum = 0
		}
	}
	for k := range e.counts {
		clear(e.counts[k][:])
	}
	e.eachRow(step, func(g int) {
		p := g * s.row
		for c, k := range e.class[p : p+s.row] {
			if e.active == nil || e.active[p+c] {
				e.counts[e.bins[of[p+c]]][k]++
			}
		}
	})
	return used
}

// eachRow visits the rows at a distance, from the middle of the first on.
func (e *Encoder[T]) eachRow(step int, visit func(g int)) {
	for g := min(step/2, e.shape.rows-1); g < e.shape.rows; g += step {
		visit(g)
	}
}

// merge joins adjacent ranges while that saves bits, and makes them contexts. It returns about how many bits all
// classes take with the tables, in units of 2^-logFrac. used is how many are counted.
func (e *Encoder[T]) merge(used int) int64 {
	low, high := 0, 127 // classes that occur
	for ; low < high && !e.occurs(low); low++ {
	}
	for ; high > low && !e.occurs(high); high-- {
	}
	type context struct {
		from   int // its first range
		counts *[128]uint32
		sum    int
		cost   int64
		joined int64 // with the next one
	}
	var list [mostBins]context
	cost := func(c *context) int64 {
		if c.sum == 0 {
			return 0
		}
		const fixed, each = 25 << logFrac, 4 << logFrac
		some := c.counts[low : high+1]
		for len(some) > 1 && some[0] == 0 {
			some = some[1:]
		}
		for len(some) > 1 && some[len(some)-1] == 0 {
			some = some[:len(some)-1]
		}
		return entropyOf(some, c.sum)/int64(used)*int64(e.coded) + fixed + each*int64(len(some))
	}
	join := func(counts *[128]uint32, a, b *context) (c context) {
		c = context{from: a.from, counts: counts, sum: a.sum + b.sum}
		for k := low; k <= high; k++ {
			counts[k] = a.counts[k] + b.counts[k]
		}
		return c
	}
	var buffer [128]uint32
	joined := func(a, b *context) int64 {
		c := join(&buffer, a, b)
		return cost(&c)
	}
	n := 0
	for b := range mostBins {
		c := context{from: b, counts: &e.counts[b]}
		for _, v := range c.counts[low : high+1] {
			c.sum += int(v)
		}
		c.cost = cost(&c)
		if n == 0 || c.sum > 0 {
			list[n] = c
			n++
		}
	}
	for i := range n - 1 {
		list[i].joined = joined(&list[i], &list[i+1])
	}
	for n > 1 {
		best, least := 0, int64(math.MaxInt64)
		for i := range n - 1 {
			if d := list[i].joined - list[i].cost - list[i+1].cost; d < least {
				best, least = i, d
			}
		}
		if least >= 0 && n <= mostTables {
			break
		}
		a := &list[best]
		both := join(a.counts, a, &list[best+1])
		both.cost = a.joined
		*a = both
		copy(list[best+1:n-1], list[best+2:n])
		n--
		if best < n-1 {
			a.joined = joined(a, &list[best+1])
		}
		if best > 0 {
			list[best-1].joined = joined(&list[best-1], a)
		}
	}
	m := &e.model
	m.boundaries = m.boundaries[:0]
	sum := int64(0)
	for i, c := range list[:n] {
		x := 0
		for i > 0 && x < expectRange && int(e.bins[x]) < c.from {
			x++
		}
		if x == expectRange {
			break
		}
		m.boundaries = append(m.boundaries, x)
		sum += c.cost
	}
	k := 0
	for x := range m.expect {
		if k+1 < len(m.boundaries) && x >= m.boundaries[k+1] {
			k++
		}
		m.expect[x] = uint8(k)
	}
	return sum
}

// occurs reports whether a class is among those that are counted.
func (e *Encoder[T]) occurs(k int) bool {
	for b := range e.counts {
		if e.counts[b][k] > 0 {
			return true
		}
	}
	return false
}

// signContext returns the number of the sign context of a place but for the sign of W.
func (s Shape) signContext(signs []uint8, north, below int) int {
	if s.dims == 1 {
		return 0
	}
	return 9*int(signs[north]) + 3*int(signs[below]) + int(signs[north-1])
}

// eachSign visits the residuals of a row that are not 0 with their sign contexts.
func (e *Encoder[T]) eachSign(g int, visit func(p, context int)) {
	s := e.shape
	each := 27
	if s.dims == 1 {
		each = 1
	}
	at, north, below := e.place(g, 0), e.place(g-1, 0), e.place(before(g, s.below()), 0)
	s.eachStripe(func(start, n int) {
		west := none
		for c := start; c < start+n; c++ {
			if e.class[g*s.row+c] > 0 {
				visit(g*s.row+c, each*west+s.signContext(e.signs, north+c, below+c))
			}
			west = int(e.signs[at+c])
		}
	})
}

// signBits chooses the probabilities of signs from some rows, and returns about how many bits all signs take.
func (e *Encoder[T]) signBits(step int) int {
	var counts [81][3][2]uint32
	used, rows := 0, 0
	e.eachRow(step, func(g int) {
		rows++
		e.eachSign(g, func(p, context int) {
			counts[context][min(e.class[p], 2)][e.signOf(p)&1]++
			used++
		})
	})
	sum := 0
	for x := range e.shape.signs() {
		for k := 1; k < 3; k++ {
			pos, neg := int(counts[x][k][0]), int(counts[x][k][1])
			e.model.signs[x][k] = signSlots / 2
			sum++
			n := pos + neg
			if n == 0 {
				continue
			}
			p := min(max((neg*signSlots+n/2)/n, 1), signSlots-1)
			cost := int((int64(n)*logSign<<logFrac - int64(neg)*log2(p) - int64(pos)*log2(signSlots-p)) >> logFrac)
			if cost += logSign; cost < n {
				e.model.signs[x][k] = uint32(p)
				sum += logSign
				n = cost
			}
			sum += n * e.shape.rows / rows
		}
	}
	return sum
}

// signOf returns 1 for a negative residual, and 0 for a positive one.
func (e *Encoder[T]) signOf(p int) int {
	return int(e.r[p]>>(entropy.LaneBits[T]()-1)) & 1
}

// Append appends the residuals with the weights and contexts of Estimate.
func (e *Encoder[T]) Append(dst []byte) []byte {
	s, m := e.shape, &e.model
	for k := range m.tables {
		clear(m.tables[k].size[:])
	}
	e.context = entropy.Grow(e.context, s.N())
	for g := range s.rows {
		sums := e.expectations(g)
		p := g * s.row
		for c, v := range sums {
			if e.active == nil || e.active[p+c] {
				k := m.expect[expectation(v)]
				e.context[p+c] = k
				m.tables[k].size[e.class[p+c]]++
			}
		}
	}
	e.drop()
	e.lowBits()
	e.signBits(1)
	options := byte(0)
	if len(e.zeros) > 0 {
		options |= hasZeros
	}
	taps := len(s.taps())
	dst = append(dst, options, m.weights.w, m.weights.ww)
	dst = append(append(dst, m.weights.taps[:taps]...), byte(len(m.boundaries)))
	for _, x := range m.boundaries[1:] {
		dst = entropy.AppendUvarint(dst, uint64(x))
	}
	w := bitWriter{buf: dst}
	for k := range m.boundaries {
		m.tables[k].choose()
		m.tables[k].write(&w)
	}
	for x := range s.signs() {
		for k := 1; k < 3; k++ {
			p := m.signs[x][k]
			if p == signSlots/2 {
				w.put(0, 1)
				continue
			}
			w.put(1|uint64(p)<<1, 1+logSign)
		}
	}
	if len(e.zeros) > 0 {
		diffs := make([]int, len(e.zeros))
		last := 0
		for i, t := range e.zeros {
			diffs[i] = int(t) - last
			last = int(t)
		}
		w.differences(diffs)
	}
	dst = w.finish()
	dst = e.states(dst)
	return e.appendLow(dst)
}

// drop removes contexts without residuals: those of a sample may be.
func (e *Encoder[T]) drop() {
	m := &e.model
	var to [mostTables]uint8
	kept := 0
	for k, from := range m.boundaries {
		used := false
		for _, n := range m.tables[k].size {
			used = used || n > 0
		}
		to[k] = uint8(max(kept-1, 0))
		if used {
			to[k] = uint8(kept)
			m.tables[kept].size = m.tables[k].size
			if kept > 0 {
				m.boundaries[kept] = from
			}
			kept++
		}
	}
	if kept == len(m.boundaries) {
		return
	}
	m.boundaries = m.boundaries[:max(kept, 1)]
	for i, k := range e.context {
		e.context[i] = to[k]
	}
}

// states appends the states and the words.
func (e *Encoder[T]) states(dst []byte) []byte {
	s, m := e.shape, &e.model
	var x [stripes]uint32
	for q := range x {
		x[q] = leastState
	}
	sign := make([]uint8, s.row) // p of each element of the row that is not 0
	if cap(e.words) < s.N() {
		e.words = make([]uint16, s.N())
	}
	words := e.words[:s.N()]
	at := len(words)
	seg, longer := s.steps()
	for g := s.rows - 1; g >= 0; g-- {
		p := g * s.row
		e.eachSign(g, func(p, context int) { sign[p-g*s.row] = uint8(m.signs[context][min(e.class[p], 2)]) })
		for j := seg; j >= 0; j-- {
			width := stripes
			if j == seg {
				width = longer
			}
			for q := width - 1; q >= 0; q-- {
				c := q*seg + min(q, longer) + j
				if e.active != nil && !e.active[p+c] {
					continue
				}
				k := e.class[p+c]
				t := &m.tables[e.context[p+c]]
				size, start := t.size[k], t.start[k]
				part, skip := uint32(signSlots), uint32(0)
				if k > 0 {
					if part = uint32(sign[c]); e.signOf(p+c) == 0 {
						part, skip = signSlots-part, part
					}
				}
				y := x[q]
				if uint64(y) >= uint64(size*part)<<16 {
					at--
					words[at] = uint16(y)
					y >>= 16
				}
				if k > 0 {
					y = y/part<<logSign + skip + y%part
				}
				x[q] = y/size<<logSlots + start + y%size
			}
		}
	}
	for _, v := range x {
		dst = binary.LittleEndian.AppendUint32(dst, v)
	}
	dst = entropy.AppendUvarint(dst, uint64(len(words)-at))
	for _, v := range words[at:] {
		dst = binary.LittleEndian.AppendUint16(dst, v)
	}
	return dst
}

// appendLow appends the low bits.
func (e *Encoder[T]) appendLow(dst []byte) []byte {
	w := bitWriter{buf: dst}
	t := uint(0)
	for p, k := range e.class {
		if k < 4 {
			continue
		}
		if len(e.zeros) > 0 {
			t = uint(e.zeros[p/entropy.GroupLen])
		}
		b := lowBits(k)
		if b <= t {
			continue
		}
		x := signed(e.r[p])
		v := uint64(max(x, -x)) >> t & (1<<(b-t) - 1)
		if b -= t; b > 32 {
			w.put(v&(1<<32-1), 32)
			v, b = v>>32, b-32
		}
		w.put(v, b)
	}
	return w.finish()
}

// bitWriter appends bits.
type bitWriter struct {
	buf []byte
	acc uint64
	n   uint
}

// put appends the n bits of v, at most 56.
func (w *bitWriter) put(v uint64, n uint) {
	w.acc |= v << w.n
	for w.n += n; w.n >= 8; w.n -= 8 {
		w.buf = append(w.buf, byte(w.acc))
		w.acc >>= 8
	}
}

// finish fills the last byte and returns all.
func (w *bitWriter) finish() []byte {
	if w.n > 0 {
		w.buf = append(w.buf, byte(w.acc))
		w.acc, w.n = 0, 0
	}
	return w.buf
}

// differences appends differences with the best of the eight codes.
func (w *bitWriter) differences(diffs []int) {
	best, least := uint(0), math.MaxInt
	for k := range uint(8) {
		sum := 0
		for _, d := range diffs {
			sum += int(zigzag(d)>>k) + 1 + int(k)
		}
		if sum < least {
			best, least = k, sum
		}
	}
	w.put(uint64(best), 3)
	for _, d := range diffs {
		u := zigzag(d)
		for range u >> best {
			w.put(1, 1)
		}
		w.put(0, 1)
		w.put(uint64(u)&(1<<best-1), best)
	}
}

func zigzag(d int) uint { return uint(d<<1 ^ d>>63) }
