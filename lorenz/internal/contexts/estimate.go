package contexts

import (
	"math"

	"github.com/cdfz-format/cdfz/lorenz/internal/kernels"
)

// sampled returns how many residuals weights are fitted to.
func (e *Encoder[T]) sampled() int {
	if e.Quick {
		return 400
	}
	return 1500
}

// Estimate fits weights and contexts, and returns about how many bytes the block will take. It reads the classes of
// some of the rows only.
func (e *Encoder[T]) Estimate() int {
	e.fit()
	// Rows at even distances, of about as many elements as pay off.
	enough := 8000
	if e.Quick {
		enough = 3000
	}
	step := max(1, len(e.r)/enough)
	step = min(step, max(1, e.rows()/8))
	used := e.bin(step)
	if used == 0 {
		return math.MaxInt
	}
	classes := int(e.merge(used) >> logFrac)
	return (classes+e.lowBits()+e.signBits(step))/8 + headBytes + (e.whole.Columns()-1)*columnBytes
}

// headBytes is about what the parts of a block with a fixed length take.
const headBytes = 4*stripes + 2 + mostTaps + 8

// columnBytes is about what another column takes.
const columnBytes = 4*stripes + 4

// bin counts the classes for each range of E in every row of a step, and returns how many residuals it counted. The
// ranges have about equally many.
func (e *Encoder[T]) bin(step int) int {
	var hist [expectRange]uint32
	used := 0
	e.eachRow(step, func(g int) {
		y := e.of(e.symbols, g)
		e.expectations(g, y)
		marks := e.marks[e.place(g):][:e.shape.row]
		for i, x := range y[:len(marks)] {
			if marks[i]&kernels.Hidden == 0 {
				hist[x%expectRange]++
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
		y := e.of(e.symbols, g)
		marks := e.marks[e.place(g):][:e.shape.row]
		for i, x := range y[:len(marks)] {
			if marks[i]&kernels.Hidden == 0 {
				e.counts[e.bins[x%expectRange]][marks[i]&127]++
			}
		}
	})
	return used
}

// eachRow visits the rows at a distance, from the middle of the first on.
func (e *Encoder[T]) eachRow(step int, visit func(g int)) {
	next := min(step/2, e.rows()-1)
	e.eachColumn(func() {
		for ; next < e.shape.rows; next += step {
			visit(next)
		}
		next -= e.shape.rows
	})
}

// rows returns the rows of all columns.
func (e *Encoder[T]) rows() (n int) {
	e.eachColumn(func() { n += e.shape.rows })
	return n
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
	defer m.setBoundaries()
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

// signBits chooses the probabilities of signs from some rows, and returns about how many bits all signs take. It sets
// the sign contexts of these rows.
func (e *Encoder[T]) signBits(step int) int {
	var seen [4][81 * 9]uint32 // by sign context, class and sign
	rows, all := 0, e.rows()
	e.eachRow(step, func(g int) {
		rows++
		x := e.signContexts(g)[:e.shape.row]                 // masked elements have class 0
		a, b, c, d := &seen[0], &seen[1], &seen[2], &seen[3] // a count would wait for itself where symbols recur
		for ; len(x) >= 4; x = x[4:] {
			a[x[0]]++
			b[x[1]]++
			c[x[2]]++
			d[x[3]]++
		}
		for _, v := range x {
			a[v]++
		}
	})
	count := func(i int) int { return int(seen[0][i] + seen[1][i] + seen[2][i] + seen[3][i]) }
	sum := 0
	for x := range e.whole.signs() {
		for k := 1; k < 3; k++ {
			neg, pos := count(9*x+3*k+negative), count(9*x+3*k+positive)
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
			sum += n * all / rows
		}
	}
	return sum
}
