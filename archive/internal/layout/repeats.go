package layout

import (
	"encoding/binary"

	"github.com/cdfz-format/cdfz/archive/internal/plan"
)

// Longer blocks save bytes mostly where numbers recur. This file tells without encoding how many recur only in longer
// blocks.

const (
	farTable = 1 << 16 // numbers that are remembered, at most
	farWord  = 4       // bytes of a number, at least: shorter elements recur everywhere
)

// place is where a number was last.
type place struct {
	tag uint32 // other bits of its hash
	end uint32 // 0 for nowhere
}

// far returns how many bytes of raw are numbers of size bytes that were before in the same block of long bytes, but
// last in an earlier one of short bytes. Zeros do not count.
func far(raw []byte, size, short, long int64) (sum int64) {
	table := make([]place, farTable)
	step := max(size, farWord)
	for at := int64(0); at+step <= int64(len(raw)); at += step {
		var v uint64
		if step == 8 {
			v = binary.LittleEndian.Uint64(raw[at:])
		} else {
			v = uint64(binary.LittleEndian.Uint32(raw[at:]))
		}
		if v == 0 {
			continue
		}
		h := v * 0x9E3779B97F4A7C15
		h = (h ^ h>>29) * 0xBF58476D1CE4E5B9
		p, tag := &table[h%farTable], uint32(h>>32)
		if p.end > 0 && p.tag == tag {
			if last := int64(p.end) - step; last < at/short*short && last >= at/long*long {
				sum += step
			}
		}
		*p = place{tag, uint32(at + step)}
	}
	return sum
}

// farInPools returns the same of all blocks that pools of a target have.
func (m *measure) farInPools(o *Options, short, target int64) (sum int64, err error) {
	s := o.Spec(m.h, m.size, plan.Pooled)
	for _, p := range plan.Pools(m.ctx, m.h, m.blocked, s, target) {
		g, err := p.Geometry()
		if err != nil {
			return 0, err
		}
		if g.BlockLen <= short {
			continue
		}
		raw, err := m.raw(p.Vars...)
		if err != nil {
			return 0, err
		}
		sum += far(raw, int64(p.Values.Size()), short, g.BlockLen)
	}
	return sum, nil
}
