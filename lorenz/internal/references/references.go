// Package references predicts each number by an earlier one, or by the complement of that
// one. Each number has its distance. For floats in their order, the complement is the
// number of opposite sign. The package suits meshes and
// other arrays in which a value resembles some earlier one, but not always a neighbour. docs/LORENZ.md,
// section 11, specifies the codes.
package references

import "github.com/cdfz-format/cdfz/lorenz/internal/entropy"

// Codes below recent are the distances used last. Others are distances increased by it.
const recent = 3

// recents are the distances used last, the latest first.
type recents [recent]int

func newRecents() recents { return recents{1, 1, 1} }

// use moves a distance to the front. code is its code.
func (r *recents) use(code uint32, dist int) {
	switch code {
	case 0:
	case 1:
		*r = recents{r[1], r[0], r[2]}
	case 2:
		*r = recents{r[2], r[0], r[1]}
	default:
		*r = recents{dist, r[0], r[1]}
	}
}

// Resolver is the progress of resolving references.
type Resolver struct {
	last recents
	done int
}

// NewResolver returns a Resolver at the first number.
func NewResolver() Resolver { return Resolver{last: newRecents()} }

// Resolve replaces differences by numbers, as many as there are codes. y has a zero before all
// differences, which the first numbers may refer to. It reports whether the codes are valid.
func Resolve[T entropy.Lane](s *Resolver, y []T, codes []uint32, signs bool) bool {
	last, from := s.last, s.done
	s.done += len(codes)
	for i, c := range codes {
		i += from
		flip := T(0)
		if signs {
			flip = -T(c & 1)
			c >>= 1
		}
		if c != 0 {
			if c == recent || c > recent && uint64(c-recent) > uint64(i)+1 {
				return false
			}
			last.use(c, int(c)-recent)
		}
		y[i+1] += y[i+1-last[0]] ^ flip
	}
	s.last = last
	return true
}
