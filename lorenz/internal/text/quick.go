package text

const (
	// quickDepth is how many earlier places with the same first bytes quick compares.
	quickDepth = 4
	// quickHash is how many bytes it looks up. Shorter repeats save little at a new distance.
	quickHash = 5
	// quickBits is the size of its table, 2^quickBits places.
	quickBits = 14
)

// quick finds tokens in one pass: at each place the repeat that saves the most bytes, by a rule
// of thumb. It takes a small part of the time of parse.
func (p *parser) quick() {
	p.tokens = p.tokens[:0]
	p.head = grow(p.head, 1<<quickBits)
	p.prev = grow(p.prev, len(p.src))
	for i := range p.head {
		p.head[i] = -1
	}
	last := newRecents(p.row)
	for at := 0; at < len(p.src); {
		best, saved := p.longest(at, &last)
		if saved <= 0 {
			at++
			continue
		}
		if best.n < nice && at+1 < len(p.src) {
			if next, more := p.longest(at+1, &last); more > saved+1 {
				best = next
			}
		}
		for i := at + 2; i < best.at+min(best.n, nice); i++ {
			p.note(i)
		}
		p.tokens = append(p.tokens, best)
		last.use(last.code(best.dist, p.row), uint64(best.dist))
		at = best.at + best.n
	}
}

// longest returns the repeat at a place that saves the most, and how much it saves, about in
// bytes: none if that is not more than 0.
func (p *parser) longest(at int, last *recents) (best token, saved int) {
	for _, d := range last {
		if d > uint64(at) {
			continue
		}
		if n := p.match(at, int(d)); n-2 > saved {
			best, saved = token{at, n, int(d)}, n-2
		}
	}
	q := p.note(at)
	for k := 0; k < quickDepth && q >= 0 && best.n < nice; k++ {
		d := at - int(q)
		if n := p.match(at, d); n-4 > saved {
			best, saved = token{at, n, d}, n-4
		}
		q = p.prev[q]
	}
	return best, saved
}

// note is enter with more bytes to look up.
func (p *parser) note(i int) int32 {
	if i+quickHash > len(p.src) {
		return -1
	}
	s := p.src[i : i+quickHash]
	h := (uint64(s[0])<<24 | uint64(s[1])<<32 | uint64(s[2])<<40 | uint64(s[3])<<48 | uint64(s[4])<<56) * 0x9E3779B97F4A7C15 >> (64 - quickBits)
	q := p.head[h]
	if int(q) == i { // known already
		return p.prev[i]
	}
	p.prev[i], p.head[h] = q, int32(i)
	return q
}
