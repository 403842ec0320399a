package lorenz

// tokens are the repeats of a block: literals to take, elements to copy, and
// from how far back. After the last token all other literals follow.
type tokens struct {
	lits, lens, dist []uint64
}

// Distances are stored as 0 to 2 for one of the last three, else plus 3.
const recent = 3

// read reads the tokens of m elements and returns how many are literals.
func (t *tokens) read(b *block, r *byteReader, m int) int {
	count := r.int(m)
	t.lits = b.numbers(r, t.lits, count)
	t.lens = b.numbers(r, t.lens, count)
	t.dist = b.numbers(r, t.dist, count)
	if r.bad {
		return 0
	}
	at, lits := uint64(0), uint64(0)
	last := [recent]uint64{1, 1, 1}
	for i := range count {
		l, k := t.lits[i], t.lens[i]+1
		if l > uint64(m)-at {
			r.bad = true
			return 0
		}
		at += l
		lits += l
		d := t.dist[i]
		switch {
		case d >= recent:
			d -= recent
			last = [recent]uint64{d, last[0], last[1]}
		case d == 2:
			last = [recent]uint64{last[2], last[0], last[1]}
		case d == 1:
			last = [recent]uint64{last[1], last[0], last[2]}
		}
		d = last[0]
		if d == 0 || d > at || k == 0 || k > uint64(m)-at {
			r.bad = true
			return 0
		}
		t.dist[i], t.lens[i] = d, k
		at += k
	}
	return int(lits + uint64(m) - at)
}

// copyRepeats builds the elements from literals and checked tokens.
func copyRepeats[T lane](t *tokens, dst, lits []T) {
	at := 0
	for i, l := range t.lits {
		n := int(l)
		copy(dst[at:at+n], lits)
		lits = lits[n:]
		at += n
		d, k := int(t.dist[i]), int(t.lens[i])
		if d >= k {
			copy(dst[at:at+k], dst[at-d:])
			at += k
			continue
		}
		for range k {
			dst[at] = dst[at-d]
			at++
		}
	}
	copy(dst[at:], lits)
}
