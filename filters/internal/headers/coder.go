package headers

// rangeCoder is the range encoder of LZMA.
type rangeCoder struct {
	out   []byte
	low   uint64
	rng   uint32
	cache byte
	held  int // bytes that wait for a carry: cache, then 0xff
}

func (c *rangeCoder) reset(out []byte) { *c = rangeCoder{out: out, rng: 1<<32 - 1, held: 1} }

func (c *rangeCoder) shift() {
	if c.low < 0xff<<24 || c.low >= 1<<32 {
		carry := byte(c.low >> 32)
		c.out = append(c.out, c.cache+carry)
		for ; c.held > 1; c.held-- {
			c.out = append(c.out, 0xff+carry)
		}
		c.held, c.cache = 0, byte(c.low>>24)
	}
	c.held++
	c.low = c.low << 8 & (1<<32 - 1)
}

func (c *rangeCoder) bit(p *prob, b uint32) {
	bound := c.rng >> probBits * uint32(*p)
	if b == 0 {
		c.rng = bound
		*p += (1<<probBits - *p) >> probMove
	} else {
		c.low += uint64(bound)
		c.rng -= bound
		*p -= *p >> probMove
	}
	if c.rng < topRange {
		c.rng <<= 8
		c.shift()
	}
}

func (c *rangeCoder) tree(p []prob, v uint32, bits int) {
	for m := uint32(1); bits > 0; {
		bits--
		b := v >> bits & 1
		c.bit(&p[m], b)
		m = m<<1 | b
	}
}

func (c *rangeCoder) reverse(p []prob, v uint32, bits int) {
	for m := uint32(1); bits > 0; bits-- {
		b := v & 1
		v >>= 1
		c.bit(&p[m], b)
		m = m<<1 | b
	}
}

func (c *rangeCoder) direct(v uint32, bits int) {
	for bits > 0 {
		bits--
		c.rng >>= 1
		if v>>bits&1 != 0 {
			c.low += uint64(c.rng)
		}
		if c.rng < topRange {
			c.rng <<= 8
			c.shift()
		}
	}
}

func (c *rangeCoder) len(l *lens, n int) {
	switch v := uint32(n - minMatch); {
	case v < lowLens:
		c.bit(&l.choice, 0)
		c.tree(l.low[:], v, 3)
	case v < 2*lowLens:
		c.bit(&l.choice, 1)
		c.bit(&l.choice2, 0)
		c.tree(l.mid[:], v-lowLens, 3)
	default:
		c.bit(&l.choice, 1)
		c.bit(&l.choice2, 1)
		c.tree(l.high[:], v-2*lowLens, 8)
	}
}

func (c *rangeCoder) dist(m *model, d uint32, n int) {
	slot, more := slotOf(d)
	c.tree(m.slot[lenState(n)][:], slot, slotBits)
	if slot < startModel {
		return
	}
	base := (2 | slot&1) << more
	if slot < fullSlots {
		c.reverse(m.special[base-slot:], d-base, more)
		return
	}
	c.direct((d-base)>>alignBits, more-alignBits)
	c.reverse(m.align[:], d&(1<<alignBits-1), alignBits)
}

// step writes the step that begins at byte at of buf.
func (c *rangeCoder) step(m *model, buf []byte, at int, p position, s step) {
	if s.kind == isLiteral {
		c.bit(&m.match[p.state], 0)
		before := byte(0)
		if at > 0 {
			before = buf[at-1]
		}
		q, v, k := m.literals(before), uint32(1), 8
		b := uint32(buf[at])
		if p.state >= literalStates {
			other := uint32(buf[at-1-int(p.reps[0])])
			for k > 0 {
				k--
				o, bit := other>>k&1, b>>k&1
				c.bit(&q[(1+o)<<8+v], bit)
				v = v<<1 | bit
				if o != bit {
					break
				}
			}
		}
		for k > 0 {
			k--
			bit := b >> k & 1
			c.bit(&q[v], bit)
			v = v<<1 | bit
		}
		return
	}
	c.bit(&m.match[p.state], 1)
	if s.kind == isMatch {
		c.bit(&m.rep[p.state], 0)
		c.len(&m.lens, int(s.n))
		c.dist(m, s.dist, int(s.n))
		return
	}
	c.bit(&m.rep[p.state], 1)
	switch s.kind {
	case isShort, 0:
		c.bit(&m.rep0[p.state], 0)
		if s.kind == isShort {
			c.bit(&m.rep0Long[p.state], 0)
			return
		}
		c.bit(&m.rep0Long[p.state], 1)
	case 1:
		c.bit(&m.rep0[p.state], 1)
		c.bit(&m.rep1[p.state], 0)
	default:
		c.bit(&m.rep0[p.state], 1)
		c.bit(&m.rep1[p.state], 1)
		c.bit(&m.rep2[p.state], uint32(s.kind-2))
	}
	c.len(&m.repLens, int(s.n))
}
