package headers

import "math/bits"

// step is a part of a block: a literal, or n bytes that are repeated from a distance.
type step struct {
	n    int32
	kind int32 // isLiteral, isShort, a repeat of reps[kind], or isMatch
	dist uint32
}

const (
	isLiteral = -2
	isShort   = -1
	isMatch   = 4 // 0 to 3 are repeats
)

// position is what the coding of a step depends on.
type position struct {
	state uint32
	reps  [4]uint32 // distances less 1
}

// after returns the position after a step.
func (p position) after(s step) position {
	switch r := &p.reps; s.kind {
	case isLiteral:
		p.state = afterLiteral(p.state)
		return p
	case isShort:
		p.state = afterShort(p.state)
		return p
	case isMatch:
		p.state = afterMatch(p.state)
		r[0], r[1], r[2], r[3] = s.dist, r[0], r[1], r[2]
		return p
	case 1:
		r[0], r[1] = r[1], r[0]
	case 2:
		r[0], r[1], r[2] = r[2], r[0], r[1]
	case 3:
		r[0], r[1], r[2], r[3] = r[3], r[0], r[1], r[2]
	}
	p.state = afterRep(p.state)
	return p
}

// slotOf returns the slot of a distance less 1, and how many bits follow it.
func slotOf(d uint32) (slot uint32, more int) {
	if d < startModel {
		return d, 0
	}
	k := bits.Len32(d) - 1
	return uint32(2*k) | d>>(k-1)&1, k - 1
}
