package repeats

import "github.com/cdfz-format/cdfz/lorenz/internal/entropy"

// Reader reads the repeats of a block. The zero value is ready for Open.
type Reader struct {
	Stop             *entropy.Stop
	lits, lens, dist entropy.NumberReader
	m                int // elements
}

// Open reads the repeats of m elements up to their numbers. It returns how many elements are literals.
func (t *Reader) Open(r *entropy.Reader, m int) (literals int) {
	t.m = m
	count := r.Int(m)
	for _, s := range []*entropy.NumberReader{&t.lits, &t.lens, &t.dist} {
		s.Stop = t.Stop
		s.Open(r, count)
	}
	if r.Bad {
		return 0
	}
	for i := range t.lens.Pieces() {
		piece := t.lens.Piece(i)
		if piece == nil {
			r.Bad = true
			return 0
		}
		for _, n := range piece {
			if uint64(n) >= uint64(m) {
				r.Bad = true
				return 0
			}
			m -= int(n) + 1
		}
	}
	return m
}

// each visits the repeats in order: how many literals precede it, how many elements it has, and its
// distance, all of them possible. It reports false if the repeats are damaged, and after a stop. at is
// where the last one ends.
func (t *Reader) each(visit func(lits, n, dist int) bool) (at int, ok bool) {
	last := [recent]int{1, 1, 1}
	for i := range t.lits.Pieces() {
		lits, lens, dist := t.lits.Piece(i), t.lens.Piece(i), t.dist.Piece(i)
		if lits == nil || lens == nil || dist == nil {
			return at, false
		}
		lens, dist = lens[:len(lits)], dist[:len(lits)]
		for j, l := range lits {
			if uint64(l) > uint64(t.m-at) {
				return at, false
			}
			at += int(l)
			switch d := dist[j]; {
			case d >= recent:
				if uint64(d-recent) > uint64(at) {
					return at, false
				}
				last = [recent]int{int(d - recent), last[0], last[1]}
			case d == 2:
				last = [recent]int{last[2], last[0], last[1]}
			case d == 1:
				last = [recent]int{last[1], last[0], last[2]}
			}
			if last[0] == 0 || last[0] > at || uint64(lens[j]) >= uint64(t.m-at) {
				return at, false
			}
			n := int(lens[j]) + 1
			if !visit(int(l), n, last[0]) {
				return at, false
			}
			at += n
		}
	}
	return at, true
}

// Copy builds the elements from the repeats and the literals. next returns the next literals, at least
// one and at most n, or nil if there are none. Copy reports false if the repeats are damaged, and after
// a stop.
func Copy[T entropy.Lane](t *Reader, dst []T, next func(n int) []T) bool {
	at := 0
	literals := func(n int) bool {
		for end := at + n; at < end; {
			s := next(end - at)
			if s == nil {
				return false
			}
			at += copy(dst[at:end], s)
		}
		return true
	}
	end, ok := t.each(func(l, n, d int) bool {
		if !literals(l) {
			return false
		}
		to := dst[at : at+n]
		if n > d && n < 32 { // shorter than the calls below
			from := dst[at-d:]
			for i := range to {
				to[i] = from[i]
			}
			at += n
			return true
		}
		for done, from := 0, at-d; done < n; { // the elements that can be copied double each time
			k := copy(to[done:min(n, done+copied)], dst[from:at+done])
			if done += k; k == copied {
				from = at - d + done%d
			}
			if t.Stop.After(k) {
				return false
			}
		}
		at += n
		return true
	})
	return ok && literals(t.m-end)
}

// copied is how many elements are copied between two checks of Stop.
const copied = 1 << 20
