package encode

import (
	"cmp"
	"io"
	"slices"

	"github.com/cdfz-format/cdfz/archive/internal/plan"
	"github.com/cdfz-format/cdfz/internal/ioat"
	"github.com/cdfz-format/cdfz/internal/recycled"
	"github.com/cdfz-format/cdfz/unlimited"
)

// Sink takes the blocks made by a cutter. It puts the memory of BlockJob.Raw back to package recycled.
type Sink = func(*BlockJob) error

// Cutter reads an image and cuts it into blocks in stored order.
type Cutter struct {
	L    *plan.Resolved
	R    io.ReaderAt // the image
	Tail io.ReaderAt // raw from the first pool on, or nil to read it from the image
	Sink Sink
	// Window is the number of bytes of the record section read at once. 0 is passed on
	// to unlimited.Gather.
	Window int64
	Read   func(n int64) // called with the bytes of blocks read
}

// Header submits block 0 of the rest, which precedes all others.
func (c *Cutter) Header() error { return c.restBlocks(0, 1) }

// All submits the blocks of the variables, then those of the pools, then the remaining
// blocks of the rest.
func (c *Cutter) All() error {
	for _, group := range c.L.Groups {
		var err error
		if c.L.Vars[group[0]].Segment.Count > 1 {
			err = c.records(group)
		} else {
			err = c.fixed(group)
		}
		if err != nil {
			return err
		}
	}
	if err := c.pools(); err != nil {
		return err
	}
	return c.restBlocks(1, c.L.RestBlocks)
}

// tail returns raw from the first pool on, and the raw offset where it begins.
func (c *Cutter) tail() (io.ReaderAt, int64) {
	from := c.L.Perm.RawOff(len(c.L.Vars))
	if c.Tail != nil {
		return c.Tail, from
	}
	return ioat.Of(c.L.Perm.Raw(c.R)).Section(from, c.L.Image.Size-from), from
}

// pools cuts variables that share blocks.
func (c *Cutter) pools() error {
	tail, from := c.tail()
	for v := len(c.L.Vars); v < len(c.L.Geoms); v++ {
		g := c.L.Geoms[v]
		for b := range g.Blocks {
			off, n := g.At(b)
			buf := recycled.Get(g.BlockLen)
			if err := ioat.ReadFull(tail, buf[:n], g.RawOff+off-from); err != nil {
				return err
			}
			g.Pad(buf, n)
			c.Read(n)
			if err := c.Sink(&BlockJob{V: v, B: b, Raw: buf}); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *Cutter) restBlocks(from, to int64) error {
	tail, start := c.tail()
	for b := from; b < to; b++ {
		off, n := c.L.RestAt(b)
		buf := recycled.Get(n)
		if err := ioat.ReadFull(tail, buf, c.L.Perm.RestOff()+off-start); err != nil {
			return err
		}
		c.Read(n)
		if err := c.Sink(&BlockJob{V: -1, B: b, Raw: buf}); err != nil {
			return err
		}
	}
	return nil
}

// fixed cuts variables that are contiguous in the image.
func (c *Cutter) fixed(group []int) error {
	for _, v := range group {
		g, seg := c.L.Geoms[v], c.L.Vars[v].Segment
		for b := range g.Blocks {
			off, n := g.At(b)
			buf := recycled.Get(g.BlockLen)
			if err := ioat.ReadFull(c.R, buf[:n], seg.At(off)); err != nil {
				return err
			}
			g.Pad(buf, n)
			c.Read(n)
			if err := c.Sink(&BlockJob{V: v, B: b, Raw: buf}); err != nil {
				return err
			}
		}
	}
	return nil
}

// recordVar collects the blocks of one record variable.
type recordVar struct {
	v, pos int
	g      *plan.Geometry
	b      int64  // the block being filled
	want   int64  // its bytes without padding
	have   int64  // of these
	buf    []byte // nil before the first byte of a block
}

// next prepares for the next block.
func (rv *recordVar) next() {
	rv.buf, rv.have = nil, 0
	if rv.b < rv.g.Blocks {
		_, rv.want = rv.g.At(rv.b)
	}
}

// recordSink cuts a group of record variables into blocks.
type recordSink struct {
	c    *Cutter
	vars []*recordVar
	done []doneBlock // since the last flush
}

var _ unlimited.Sink = (*recordSink)(nil)

// doneBlock is a complete block, with its place in stored order.
type doneBlock struct {
	rec int64
	pos int
	job *BlockJob
}

// records cuts a group of record variables in one pass over the record section.
func (c *Cutter) records(group []int) error {
	s := &recordSink{c: c, vars: make([]*recordVar, len(group))}
	segs := make([]unlimited.Segment, len(group))
	for pos, v := range group {
		s.vars[pos] = &recordVar{v: v, pos: pos, g: c.L.Geoms[v]}
		s.vars[pos].next()
		segs[pos] = c.L.Vars[v].Segment
	}
	return unlimited.Gather(c.R, segs, c.Window, s)
}

// Room implements unlimited.Sink.
func (s *recordSink) Room(i int, n int64) []byte {
	rv := s.vars[i]
	if rv.buf == nil {
		rv.buf = recycled.Get(rv.g.BlockLen)
	}
	return rv.buf[rv.have:min(rv.have+n, rv.want)]
}

// Filled implements unlimited.Sink.
func (s *recordSink) Filled(i int, n, rec int64) {
	rv := s.vars[i]
	rv.have += n
	s.c.Read(n)
	if rv.have < rv.want {
		return
	}
	rv.g.Pad(rv.buf, rv.want)
	s.done = append(s.done, doneBlock{rec, rv.pos, &BlockJob{V: rv.v, B: rv.b, Raw: rv.buf}})
	rv.b++
	rv.next()
}

// Flush implements unlimited.Sink. Blocks are completed variable by variable, but the
// stored order is record by record.
func (s *recordSink) Flush() error {
	slices.SortStableFunc(s.done, func(a, b doneBlock) int {
		return cmp.Or(cmp.Compare(a.rec, b.rec), cmp.Compare(a.pos, b.pos))
	})
	for _, d := range s.done {
		if err := s.c.Sink(d.job); err != nil {
			return err
		}
	}
	s.done = s.done[:0]
	return nil
}
