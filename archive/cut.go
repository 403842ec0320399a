package archive

import (
	"encoding/binary"
	"io"
	"slices"

	"github.com/cdfz-format/cdfz/internal/ioat"
	"github.com/cdfz-format/cdfz/unlimited"
)

// cutWindow is how much of the record section is read at once, and the least
// average run that is read by itself instead.
const (
	cutWindow = 8 << 20
	directRun = 32 << 10
)

// blockSink takes the blocks that a cutter makes.
type blockSink interface {
	buffer(n int64) []byte
	submit(*blockJob) error
}

// cutter reads an image and cuts it into blocks in stored order.
type cutter struct {
	l    *layout
	r    io.ReaderAt
	sink blockSink
	read func(n int64) // told the bytes of blocks that were read
}

// header submits block 0 of the rest, which precedes all others.
func (c *cutter) header() error { return c.restBlocks(0, 1) }

// all submits the blocks of the variables, then the further ones of the rest.
func (c *cutter) all() error {
	for _, group := range c.l.Groups {
		var err error
		if c.l.Vars[group[0]].Segment.Count > 1 {
			err = c.records(group)
		} else {
			err = c.fixed(group)
		}
		if err != nil {
			return err
		}
	}
	return c.restBlocks(1, c.l.restBlocks)
}

func (c *cutter) restBlocks(from, to int64) error {
	raw := c.l.perm.Raw(c.r)
	base := c.l.perm.RawOff(len(c.l.geoms))
	for b := from; b < to; b++ {
		off, n := c.l.restAt(b)
		buf := c.sink.buffer(n)
		if err := ioat.ReadFull(raw, buf, base+off); err != nil {
			return err
		}
		c.read(n)
		if err := c.sink.submit(&blockJob{v: -1, b: b, raw: buf}); err != nil {
			return err
		}
	}
	return nil
}

// fixed cuts variables that are contiguous in the image.
func (c *cutter) fixed(group []int) error {
	for _, v := range group {
		g, seg := c.l.geoms[v], c.l.Vars[v].Segment
		for b := range g.blocks {
			off, n := g.at(b)
			buf := c.sink.buffer(g.blockLen)
			if err := ioat.ReadFull(c.r, buf[:n], seg.Off+off); err != nil {
				return err
			}
			g.pad(buf, n)
			c.read(n)
			if err := c.sink.submit(&blockJob{v: v, b: b, raw: buf}); err != nil {
				return err
			}
		}
	}
	return nil
}

// recordVar collects the blocks of one record variable.
type recordVar struct {
	v, pos int
	g      *geometry
	seg    unlimited.Segment
	b      int64  // the block being filled
	want   int64  // its bytes without padding
	have   int64  // of these
	buf    []byte // nil before the first byte of a block
}

// doneBlock is a complete block, with its place in stored order.
type doneBlock struct {
	rec int64
	pos int
	job *blockJob
}

// records cuts a group of record variables in one pass over the record section.
func (c *cutter) records(group []int) error {
	vars := make([]*recordVar, len(group))
	first := c.l.Vars[group[0]].Segment
	lo, hi := first.Off, int64(0)
	for pos, v := range group {
		rv := &recordVar{v: v, pos: pos, g: c.l.geoms[v], seg: c.l.Vars[v].Segment}
		rv.next()
		vars[pos] = rv
		lo, hi = min(lo, rv.seg.Off), max(hi, rv.seg.Off+rv.seg.Len)
	}
	span := hi - lo
	if span > cutWindow || span/int64(len(vars)) >= directRun {
		return c.recordsDirect(vars, first.Count)
	}
	perWindow := max(1, (cutWindow-span)/first.Stride+1)
	var win []byte
	var done []doneBlock
	for rec := int64(0); rec < first.Count; rec += perWindow {
		m := min(perWindow, first.Count-rec)
		n := (m-1)*first.Stride + span
		if int64(cap(win)) < n {
			win = make([]byte, n)
		}
		win = win[:n]
		if err := ioat.ReadFull(c.r, win, lo+rec*first.Stride); err != nil {
			return err
		}
		done = done[:0]
		for _, rv := range vars {
			done = rv.take(c, win[rv.seg.Off-lo:], rec, m, done)
		}
		// Within a window blocks are complete variable by variable; stored order
		// is record by record.
		slices.SortStableFunc(done, func(a, b doneBlock) int {
			if a.rec != b.rec {
				return int(min(max(a.rec-b.rec, -1), 1))
			}
			return a.pos - b.pos
		})
		for _, d := range done {
			if err := c.sink.submit(d.job); err != nil {
				return err
			}
		}
	}
	return nil
}

// recordsDirect reads every run by itself, straight into its blocks.
func (c *cutter) recordsDirect(vars []*recordVar, count int64) error {
	for rec := range count {
		for _, rv := range vars {
			off, left := rv.seg.Off+rec*rv.seg.Stride, rv.seg.Len
			for left > 0 {
				part := rv.part(c, left)
				if err := ioat.ReadFull(c.r, part, off); err != nil {
					return err
				}
				off += int64(len(part))
				left -= int64(len(part))
				if job := rv.fill(c, int64(len(part))); job != nil {
					if err := c.sink.submit(job); err != nil {
						return err
					}
				}
			}
		}
	}
	return nil
}

// next prepares for the block after those that are done.
func (rv *recordVar) next() {
	rv.buf, rv.have = nil, 0
	if rv.b < rv.g.blocks {
		_, rv.want = rv.g.at(rv.b)
	}
}

// part is where the next bytes of the variable go, at most n of them.
func (rv *recordVar) part(c *cutter, n int64) []byte {
	if rv.buf == nil {
		rv.buf = c.sink.buffer(rv.g.blockLen)
	}
	return rv.buf[rv.have:min(rv.have+n, rv.want)]
}

// fill notes that n bytes of part are there and returns the block if that
// completes it.
func (rv *recordVar) fill(c *cutter, n int64) *blockJob {
	rv.have += n
	c.read(n)
	if rv.have < rv.want {
		return nil
	}
	rv.g.pad(rv.buf, rv.want)
	job := &blockJob{v: rv.v, b: rv.b, raw: rv.buf}
	rv.b++
	rv.next()
	return job
}

// take copies the runs of records [rec, rec+m) out of a window that starts with
// the run of record rec.
func (rv *recordVar) take(c *cutter, win []byte, rec, m int64, done []doneBlock) []doneBlock {
	n, stride := rv.seg.Len, rv.seg.Stride
	for i := int64(0); i < m; {
		// As many whole runs as the block still takes go in one tight loop.
		if k := min(m-i, (rv.want-rv.have)/n); k > 0 && rv.have%n == 0 {
			gather(rv.part(c, k*n), win[i*stride:], n, stride)
			i += k
			if job := rv.fill(c, k*n); job != nil {
				done = append(done, doneBlock{rec + i - 1, rv.pos, job})
			}
			continue
		}
		for run := win[i*stride:][:n]; len(run) > 0; {
			k := copy(rv.part(c, int64(len(run))), run)
			run = run[k:]
			if job := rv.fill(c, int64(k)); job != nil {
				done = append(done, doneBlock{rec + i, rv.pos, job})
			}
		}
		i++
	}
	return done
}

// gather copies runs of n bytes, a stride apart in src, one behind the other.
func gather(dst, src []byte, n, stride int64) {
	switch n {
	case 4:
		for at := int64(0); len(dst) >= 4; at += stride {
			binary.NativeEndian.PutUint32(dst, binary.NativeEndian.Uint32(src[at:]))
			dst = dst[4:]
		}
	case 8:
		for at := int64(0); len(dst) >= 8; at += stride {
			binary.NativeEndian.PutUint64(dst, binary.NativeEndian.Uint64(src[at:]))
			dst = dst[8:]
		}
	default:
		for at := int64(0); len(dst) > 0; at += stride {
			copy(dst[:n], src[at:])
			dst = dst[n:]
		}
	}
}
