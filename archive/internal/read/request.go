package read

import "github.com/cdfz-format/cdfz/archive/internal/plan"

// request stands for the bytes [lo, hi) of a block, or for the same bytes of several of its
// planes, the first of which begin at lo and the last of which end at hi.
type request struct {
	plan.Block
	lo, hi int64
	planes planes

	// repeated means that the block is cached only if it was requested before. dense means that it
	// is cached in dense reads, too, since the next read is likely to request the rest of it.
	repeated, dense bool
	cached          bool // whether the block is cached when it is decoded
}

// planes are the same bytes of several planes of a block: count times len bytes, the starts
// stride bytes apart. The zero value means all bytes.
type planes struct{ len, stride, count int64 }

// bytes returns how many bytes are requested.
func (q request) bytes() int64 {
	if q.planes.count > 0 {
		return q.planes.len * q.planes.count
	}
	return q.hi - q.lo
}

// data holds the bytes of a decoded block from off on, including padding. With planes it holds
// these only, one after the other.
type data struct {
	off    int64
	b      []byte
	planes planes
}

// covers reports whether all requested bytes are present.
func (d data) covers(q request) bool {
	if d.planes.count == 0 {
		return d.off <= q.lo && q.hi <= d.off+int64(len(d.b))
	}
	return d.planes == q.planes && d.off == q.lo
}

// whole requests a whole block.
func whole(b plan.Block) request { return request{Block: b, hi: b.Len} }

// partOf requests the part of block b of a variable that must be decoded for its bytes
// [lo, hi). It is the whole block if the filters cannot decode ranges, if the range is
// most of the block, and for remote archives, where fetching a block costs more than
// decoding it.
func (a *Reader) partOf(v int, b, lo, hi int64) request {
	q := whole(a.L.BlockOf(v, b))
	grain := a.grain(v)
	if grain == 0 || a.Remote {
		return q
	}
	q.repeated = true
	if hi-lo <= q.Len/2 {
		q.lo, q.hi = lo/grain*grain, min(plan.CeilDiv(hi, grain)*grain, q.Len)
	}
	return q
}
