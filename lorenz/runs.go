package lorenz

import (
	"fmt"

	"github.com/cdfz-format/cdfz/lorenz/internal/entropy"
	"github.com/cdfz-format/cdfz/lorenz/internal/predict"
)

// Runs are ranges of elements of one length, at even distances.
type Runs struct {
	Start  int // first element of the first run
	Len    int // elements of a run
	Stride int // from the start of a run to that of the next, at least Len
	Count  int // runs
}

// end returns the element after the last run.
func (r Runs) end() int { return r.Start + (r.Count-1)*r.Stride + r.Len }

// DecodeRuns restores runs of elements of a block to dst, one after the other. dst must
// have their length. Most blocks are decoded only around the runs. If planes, the last two
// dimensions, are predicted from earlier ones, runs with the stride of a plane cost about as
// much as the last one alone.
func (d *Decoder) DecodeRuns(dst, src []byte, r Runs) error {
	if r.Count < 1 || r.Len < 1 || r.Start < 0 || r.Start > d.n || r.Len > d.n-r.Start ||
		r.Count > 1 && (r.Stride < r.Len || r.Count-1 > (d.n-r.Start-r.Len)/r.Stride) {
		return fmt.Errorf("lorenz: expected runs within 0 and %d, found %+v", d.n, r)
	}
	if len(dst) != r.Count*r.Len*d.size {
		return fmt.Errorf("lorenz: expected a buffer of %d bytes, found %d", r.Count*r.Len*d.size, len(dst))
	}
	if r.Count == 1 || r.Stride == r.Len {
		return d.DecodeRange(dst, src, r.Start, r.end())
	}
	if len(src) > 0 && (src[0] == modeGroups || src[0] == modeContexts) {
		d.begin(src[0])
		if !d.b.parse(&d.p, d.n, src[1:]) {
			return d.check(false)
		}
		if done, ok := d.runs(dst, r); done || !ok {
			return d.check(ok)
		}
	}
	need := (r.end() - r.Start) * d.size
	if cap(d.span) < need {
		d.span = make([]byte, need)
	}
	span := d.span[:need]
	if err := d.DecodeRange(span, src, r.Start, r.end()); err != nil {
		return err
	}
	for k := range r.Count {
		copy(dst[k*r.Len*d.size:(k+1)*r.Len*d.size], span[k*r.Stride*d.size:])
	}
	return nil
}

// runs decodes runs of a parsed block in modeGroups or modeContexts. done is false if everything from the
// first to the last one must be decoded.
func (d *Decoder) runs(dst []byte, r Runs) (done, ok bool) {
	b := &d.b
	size := r.Len * d.size
	switch {
	case !b.ranged:
		return false, true
	case b.Plane == r.Stride && r.Start%b.Plane+r.Len <= b.Plane:
		w := b.Window(r.Start, r.Start+r.Len, b.deep)
		w.P1 = (r.end()-1)/b.Plane + 1
		w = widened(w)
		if !d.lanes(w) {
			return true, false
		}
		for k := range r.Count {
			d.placeRun(dst[k*size:(k+1)*size], w, r.Start+k*r.Stride)
		}
		ok := b.patch(r.Start, r.end()-r.Start, func(e int, value []byte) {
			e -= r.Start
			if in := e % r.Stride; in < r.Len {
				copy(dst[(e/r.Stride*r.Len+in)*d.size:], value)
			}
		})
		if !ok {
			return true, false
		}
	default:
		sum := 0
		for k := range r.Count {
			at := r.Start + k*r.Stride
			w := b.Window(at, at+r.Len, b.deep)
			sum += max(w.Len(), entropy.ChunkSyms)
		}
		if all := b.Window(r.Start, r.end(), b.deep); sum >= all.Len() {
			return false, true
		}
		for k := range r.Count {
			at := r.Start + k*r.Stride
			if !d.groups(dst[k*size:(k+1)*size], at, at+r.Len) {
				return true, false
			}
		}
	}
	if d.p.Order == LittleEndian {
		d.swap(dst)
	}
	return true, true
}

// placeRun writes the elements from element i on, which are in one plane of a window, but not patches.
func (d *Decoder) placeRun(dst []byte, w predict.Window, i int) {
	b := &d.b
	p, from := i/w.Plane, i%w.Plane
	to := from + len(dst)/b.size
	for q := (from - w.Start) / w.Cell; w.Start+q*w.Cell < to; q++ {
		start, width := w.Column(q)
		start += (p - w.P0) * width
		e := w.Start + q*w.Cell
		lo, hi := max(e, from), min(e+width, to)
		out := dst[(lo-from)*b.size : (hi-from)*b.size]
		if b.wide {
			put(b, out, d.y64[start+lo-e:start+hi-e])
		} else {
			put(b, out, d.y32[start+lo-e:start+hi-e])
		}
	}
	b.mask.Stamp(dst, b.size, i)
}
