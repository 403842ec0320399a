package headers

// The quick choice of steps: the longest repeat, unless the next byte begins a better one.

// Repeats of earlier distances are cheaper than others that are longer by up to three bytes, if these have distances of
// 2^9 and of 2^15 or more.
const (
	midDist = 1 << 9
	farDist = 1 << 15
	farther = 7 // a distance that is 2^7 times as long costs about as much as a byte saves
)

// repeated returns the longest repeat at one of the last distances, and the number of that distance.
func (e *encoder) repeated(at int, reps *[4]uint32) (n, kind int) {
	b := e.buf[at:]
	b = b[:min(len(b), maxMatch)]
	for k, d := range reps {
		if from := at - 1 - int(d); from >= 0 && e.buf[from] == b[0] {
			if c := common(e.buf[from:], b); c > n {
				n, kind = c, k
			}
		}
	}
	return n, kind
}

// longest finds the longest new repeat, or a nearer one that is shorter by one byte. It inserts the byte.
func (e *encoder) longest(at int) match {
	e.found = e.find(e.found[:0], at, quickTries, quickEnough)
	e.insert(at)
	k := len(e.found)
	if k == 0 {
		return match{}
	}
	m := e.found[k-1]
	for k--; k > 0 && m.n == e.found[k-1].n+1 && e.found[k-1].dist < m.dist>>farther; k-- {
		m = e.found[k-1]
	}
	if m.n == minMatch && m.dist >= fullDist {
		return match{}
	}
	return m
}

// quick returns the next step. next is the longest repeat at the byte, if the step before it has found that.
func (e *encoder) quick(at int, p *position) step {
	m := e.next
	if e.nextAt != at {
		m = e.longest(at)
	}
	literal := step{1, isLiteral, 0}
	n, kind := e.repeated(at, &p.reps)
	switch {
	case n >= minMatch && (n >= quickEnough || n+1 >= m.n || n+2 >= m.n && m.dist >= midDist || n+3 >= m.n && m.dist >= farDist):
		return e.take(at, 1, step{int32(n), int32(kind), 0})
	case m.n < minMatch:
		if n > 0 && kind == 0 {
			literal.kind = isShort
		}
		return literal
	case m.n >= quickEnough || at+1 >= len(e.buf):
		return e.take(at, 1, step{int32(m.n), isMatch, m.dist})
	}
	e.next, e.nextAt = e.longest(at+1), at+1
	if k := e.next; k.n >= m.n && k.dist < m.dist || k.n == m.n+1 && m.dist >= k.dist>>farther || k.n > m.n+1 ||
		k.n+1 >= m.n && m.n > minMatch && k.dist < m.dist>>farther {
		return literal
	}
	if k, _ := e.repeated(at+1, &p.reps); k >= max(minMatch, m.n-1) {
		return literal
	}
	return e.take(at, 2, step{int32(m.n), isMatch, m.dist})
}

// take inserts the bytes of a step after the first few, which are inserted already.
func (e *encoder) take(at, have int, s step) step {
	for i := have; i < int(s.n); i++ {
		e.insert(at + i)
	}
	return s
}
