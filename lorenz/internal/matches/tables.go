package matches

import (
	"github.com/cdfz-format/cdfz/lorenz/internal/arith"
	"github.com/cdfz-format/cdfz/lorenz/internal/entropy"
)

// tables are the probabilities of the three orders of contexts, 2^hash of each. Few literals use few of them, which would
// each lie in another line of the cache. So they are found by hashes among those that were used, until these get too many.
type tables struct {
	shift int // 32 - hash
	whole [orders][]arith.Prob
	all   bool // whole is used

	used  [1 << usedBits]slot
	block uint32 // number of the block, whose slots are valid
	count int    // of them
}

// slot is a probability that was used. Its tag has the number of the block, the order and the place in the table.
type slot struct {
	tag uint32
	p   arith.Prob
}

const (
	orders   = 3
	usedBits = 13
	mostUsed = 5 << (usedBits - 3) // so that the next free slot is near
	spread   = 0x5555              // between the places of two orders

	placeBits = smallHash + 2 // of a tag: the order and the place in its table
	blocks    = 1 << (32 - placeBits)
)

// reset prepares tables of 2^hash probabilities for a block.
func (t *tables) reset(hash int) {
	t.shift, t.count = 32-hash, 0
	if t.block = (t.block + 1) % blocks; t.block == 0 {
		clear(t.used[:])
		t.block = 1
	}
	if t.all = hash > smallHash; t.all {
		t.fill()
	}
}

// fill makes all probabilities those of the beginning.
func (t *tables) fill() {
	for i := range t.whole {
		t.whole[i] = entropy.Grow(t.whole[i], 1<<(32-t.shift))
		arith.Reset(t.whole[i])
	}
}

// prepare makes room for another literal.
func (t *tables) prepare() {
	if t.all || t.count <= mostUsed-orders*byteBits {
		return
	}
	t.fill()
	for _, s := range &t.used {
		if s.tag>>placeBits == t.block {
			t.whole[s.tag>>smallHash&3][s.tag&(1<<smallHash-1)] = s.p
		}
	}
	t.all = true
}

// at returns a probability, for changes before the next call of prepare.
func (t *tables) at(order int, key, node uint32) *arith.Prob {
	place := (key | node<<16) * 0x9E3779B1 >> (t.shift & 31)
	if t.all {
		return &t.whole[order][place]
	}
	// Whether a probability is new is unpredictable, so there is no branch on it.
	tag := t.block<<placeBits | uint32(order)<<smallHash | place
	s := &t.used[(place+uint32(order)*spread)%(1<<usedBits)]
	if s.other(tag) {
		s = t.next(place+uint32(order)*spread, tag)
	}
	differs := s.tag ^ tag
	fresh := (differs | -differs) >> 31
	s.tag, s.p = tag, s.p.OrStart(fresh)
	t.count += int(fresh)
	return &s.p
}

// other reports whether a slot has another probability of the same block.
func (s *slot) other(tag uint32) bool { return (s.tag^tag)-1 < 1<<placeBits-1 }

// next returns the slot for a tag if the one at i has another probability.
func (t *tables) next(i, tag uint32) *slot {
	for {
		i++
		if s := &t.used[i%(1<<usedBits)]; !s.other(tag) {
			return s
		}
	}
}

// peek returns a probability.
func (t *tables) peek(order int, key, node uint32) arith.Prob {
	place := (key | node<<16) * 0x9E3779B1 >> (t.shift & 31)
	if t.all {
		return t.whole[order][place]
	}
	tag := t.block<<placeBits | uint32(order)<<smallHash | place
	s := &t.used[(place+uint32(order)*spread)%(1<<usedBits)]
	if s.other(tag) {
		s = t.next(place+uint32(order)*spread, tag)
	}
	differs := s.tag ^ tag
	return s.p.OrStart((differs | -differs) >> 31)
}
