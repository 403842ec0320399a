package entropy

import (
	"encoding/binary"

	"github.com/cdfz-format/cdfz/lorenz/internal/kernels"
)

// GroupReader decodes the output of GroupWriter.
type GroupReader struct {
	Stop    *Stop
	m       int // values
	flags   byte
	packs   uint16
	streams [nStreams + 1]uint8
	class   []byte
	zeros   []byte
	s       [nStreams]Stream
	side    Stream // of the classes and trailing zeros
	low     []byte
	src     []byte // the block from the group stream on
	syms    []byte
	places  []uint64 // of groups, by stream
	at      kernels.Groups
	huff    huffReader
	cur     [nStreams + 1]cursor
	vals    []uint64 // values of all streams that are too large for a symbol
	spots   []int32  // their places
	need    int      // the most values of the piece

	total   tally // of all groups
	scanned int   // groups that before counts
	before  tally // counts of the first groups
}

// tally counts groups.
type tally struct {
	groups [nStreams]int // of each stream
	low    int           // bytes of low bits
}

// tally counts groups of these classes.
func (g *GroupReader) tally(class []byte) (t tally) {
	count, over := kernels.Tally(class)
	for c := 1; c <= nStreams; c++ {
		t.groups[g.streams[c]] += count[c]
	}
	t.low = 4 * over
	return t
}

// Open parses a group stream of m values.
func (g *GroupReader) Open(r *Reader, m, width int) {
	g.m = m
	n := (m + GroupLen - 1) / GroupLen
	g.class, g.zeros = Grow(g.class, n), Grow(g.zeros, n)
	g.total, g.scanned, g.before = tally{}, 0, tally{}
	if m == 0 {
		g.flags, g.low = 0, nil
		for i := range g.s {
			g.s[i].count = 0
		}
		return
	}
	g.src = r.Buf
	g.flags = r.Byte()
	if g.flags&4 != 0 {
		r.Bad = true
	}
	g.streams = streamOf(g.flags)
	if p := r.Bytes(2); p != nil {
		g.packs = binary.LittleEndian.Uint16(p)
	}
	g.bytes(r, g.class)
	if g.flags&groupsTZ != 0 {
		g.bytes(r, g.zeros)
	}
	if r.Bad {
		return
	}
	if int(kernels.SumBytes(g.class)) > width+2 {
		r.Bad = true
		return
	}
	g.total = g.tally(g.class)
	zmax := byte(0)
	if g.flags&groupsTZ != 0 {
		for _, z := range g.zeros {
			zmax = max(zmax, z)
		}
	}
	if int(zmax) >= width {
		r.Bad = true
		return
	}
	for i := range g.s {
		pack := g.packs >> (2 * i) & 3
		if pack > pack4 {
			r.Bad = true
			return
		}
		g.s[i].Read(r, g.total.groups[i]*GroupLen>>pack)
	}
	g.low = r.Bytes(g.total.low)
}

// bytes reads a stream without extra bits.
func (g *GroupReader) bytes(r *Reader, dst []byte) {
	g.side.Read(r, len(dst))
	if r.Bad {
		return
	}
	if g.side.method&streamExtra != 0 || !g.side.decode(dst, 0, (len(dst)+ChunkSyms-1)/ChunkSyms) {
		r.Bad = true
	}
}

// seek prepares for reading groups [a, b).
func (g *GroupReader) seek(a, b int) (int, bool) {
	if a < g.scanned {
		g.scanned, g.before = 0, tally{}
	}
	if a > g.scanned {
		more := g.tally(g.class[g.scanned:a])
		for i, n := range more.groups {
			g.before.groups[i] += n
		}
		g.before.low += more.low
	}
	g.scanned = a
	before, low := g.before.groups, g.before.low
	count := g.total.groups
	if b-a < len(g.class) {
		count = g.tally(g.class[a:b]).groups
	}
	g.need = 0
	var first, chunks [nStreams]int
	for i, n := range count {
		if n == 0 {
			continue
		}
		per := ChunkSyms << (g.packs >> (2 * i) & 3) / GroupLen // groups a chunk
		first[i] = before[i] / per
		chunks[i] = (before[i]+n-1)/per + 1 - first[i]
		groups := chunks[i] * per
		if g.s[i].method&streamExtra == 0 {
			groups = min(groups, n+per) // the rest of the last chunk is not needed
		}
		g.need += groups * GroupLen
	}
	g.syms, g.places = Grow(g.syms, 2*g.need), Grow(g.places, b-a)
	at := 0
	g.huff.jobs = g.huff.jobs[:0]
	var bufs [nStreams][]byte
	var starts [nStreams]int // in syms
	for i, n := range count {
		if n == 0 {
			continue
		}
		s, pack := &g.s[i], g.packs>>(2*i)&3
		c0, c1 := first[i], first[i]+chunks[i]
		k := min(c1*ChunkSyms, s.count) - c0*ChunkSyms // symbols
		if s.method&streamExtra == 0 {
			k = (before[i]+n)*GroupLen>>pack - c0*ChunkSyms
		}
		bufs[i], starts[i] = g.syms[at:at+k], at
		at += k
		if s.method&^streamExtra == streamHuff {
			s.prepare(&g.huff, bufs[i], c0, c1, g.src)
		} else if !s.decode(bufs[i], c0, c1) {
			return 0, false
		}
	}
	g.huff.run(g.src)
	g.vals, g.spots = g.vals[:0], g.spots[:0]
	place := 0
	for i, n := range count {
		if n == 0 {
			g.cur[i+1].large = nil
			continue
		}
		s, pack, buf := &g.s[i], g.packs>>(2*i)&3, bufs[i]
		c0, c1 := first[i], first[i]+chunks[i]
		if s.method&^streamExtra == streamHuff && !s.whole(len(buf), c0, c1) {
			return 0, false
		}
		if pack != pack1 {
			w := g.syms[at : at+len(buf)<<pack]
			starts[i] = at
			at += len(w)
			unpack(w, buf, pack)
			buf = w
		}
		if !g.large(&g.cur[i+1], s, pack, buf, starts[i], c0, c1) {
			return 0, false
		}
		g.cur[i+1].place = place
		place += n
		g.cur[i+1].skip((before[i] - c0*(ChunkSyms<<pack/GroupLen)) * GroupLen)
	}
	return low, true
}

// Groups returns the number of groups.
func (g *GroupReader) Groups() int { return len(g.class) }

// Unsigned reports whether the values are stored without a sign.
func (g *GroupReader) Unsigned() bool { return g.flags&groupsUnsigned != 0 }
