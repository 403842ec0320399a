package blocks

import (
	"encoding/binary"
	"io"
	"slices"

	"github.com/cdfz-format/cdfz/archive/internal/format"
	"github.com/cdfz-format/cdfz/internal/ioat"
	"github.com/cdfz-format/cdfz/unlimited"
)

const (
	// cutWindow is how much of the record section is read at once.
	cutWindow = 8 << 20
	// directRun is the least average run that is read separately instead.
	directRun = 32 << 10
)

// blockSink takes the blocks that a cutter makes.
type blockSink interface {
	Buffer(n int64) []byte
	Submit(*BlockJob) error
}

// Cutter reads an image and cuts it into blocks in stored order.
type Cutter struct {
	L    *format.Resolved
	R    io.ReaderAt // the image
	Rest io.ReaderAt // the rest; nil: it is read from the image
	Sink blockSink
	// Window is how much of the record section is read at once; 0: 8 MiB.
	Window int64
	Read   func(n int64) // told the bytes of blocks that were read
}

// Header submits block 0 of the rest, which precedes all others.
func (c *Cutter) Header() error { return c.restBlocks(0, 1) }

// All submits the blocks of the variables, then the further ones of the rest.
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
	return c.restBlocks(1, c.L.RestBlocks)
}

func (c *Cutter) restBlocks(from, to int64) error {
	rest := c.Rest
	if rest == nil {
		rest = ioat.NewSection(c.L.Perm.Raw(c.R), c.L.Perm.RawOff(len(c.L.Geoms)), c.L.Perm.RestLen())
	}
	for b := from; b < to; b++ {
		off, n := c.L.RestAt(b)
		buf := c.Sink.Buffer(n)
		if err := ioat.ReadFull(rest, buf, off); err != nil {
			return err
		}
		c.Read(n)
		if err := c.Sink.Submit(&BlockJob{V: -1, B: b, Raw: buf}); err != nil {
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
			buf := c.Sink.Buffer(g.BlockLen)
			if err := ioat.ReadFull(c.R, buf[:n], seg.Off+off); err != nil {
				return err
			}
			g.Pad(buf, n)
			c.Read(n)
			if err := c.Sink.Submit(&BlockJob{V: v, B: b, Raw: buf}); err != nil {
				return err
			}
		}
	}
	return nil
}

// recordVar collects the blocks of one record variable.
type recordVar struct {
	v, pos int
	g      *format.Geometry
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
	job *BlockJob
}

// records cuts a group of record variables in one pass over the record section.
func (c *Cutter) records(group []int) error {
	vars := make([]*recordVar, len(group))
	first := c.L.Vars[group[0]].Segment
	lo, hi := first.Off, int64(0)
	for pos, v := range group {
		rv := &recordVar{v: v, pos: pos, g: c.L.Geoms[v], seg: c.L.Vars[v].Segment}
		rv.next()
		vars[pos] = rv
		lo, hi = min(lo, rv.seg.Off), max(hi, rv.seg.Off+rv.seg.Len)
	}
	span := hi - lo
	window := c.Window
	if window == 0 {
		window = cutWindow
	}
	if span > window || span/int64(len(vars)) >= directRun {
		return c.recordsDirect(vars, first.Count)
	}
	perWindow := max(1, (window-span)/first.Stride+1)
	var win []byte
	var done []doneBlock
	for rec := int64(0); rec < first.Count; rec += perWindow {
		m := min(perWindow, first.Count-rec)
		n := (m-1)*first.Stride + span
		if int64(cap(win)) < n {
			win = make([]byte, n)
		}
		win = win[:n]
		if err := ioat.ReadFull(c.R, win, lo+rec*first.Stride); err != nil {
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
			if err := c.Sink.Submit(d.job); err != nil {
				return err
			}
		}
	}
	return nil
}

// recordsDirect reads every run separately, straight into its blocks.
func (c *Cutter) recordsDirect(vars []*recordVar, count int64) error {
	for rec := range count {
		for _, rv := range vars {
			off, left := rv.seg.Off+rec*rv.seg.Stride, rv.seg.Len
			for left > 0 {
				part := rv.part(c, left)
				if err := ioat.ReadFull(c.R, part, off); err != nil {
					return err
				}
				off += int64(len(part))
				left -= int64(len(part))
				if job := rv.fill(c, int64(len(part))); job != nil {
					if err := c.Sink.Submit(job); err != nil {
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
	if rv.b < rv.g.Blocks {
		_, rv.want = rv.g.At(rv.b)
	}
}

// part is where the next bytes of the variable go, at most n of them.
func (rv *recordVar) part(c *Cutter, n int64) []byte {
	if rv.buf == nil {
		rv.buf = c.Sink.Buffer(rv.g.BlockLen)
	}
	return rv.buf[rv.have:min(rv.have+n, rv.want)]
}

// fill notes that n bytes of part are there and returns the block if that
// completes it.
func (rv *recordVar) fill(c *Cutter, n int64) *BlockJob {
	rv.have += n
	c.Read(n)
	if rv.have < rv.want {
		return nil
	}
	rv.g.Pad(rv.buf, rv.want)
	job := &BlockJob{V: rv.v, B: rv.b, Raw: rv.buf}
	rv.b++
	rv.next()
	return job
}

// take copies the runs of records [rec, rec+m) out of a window that starts with
// the run of record rec.
func (rv *recordVar) take(c *Cutter, win []byte, rec, m int64, done []doneBlock) []doneBlock {
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

// gather copies runs of n bytes, which are a stride apart in src, one after another.
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
