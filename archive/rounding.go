package archive

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"slices"

	"github.com/cdfz-format/cdfz/archive/internal/fault"
	"github.com/cdfz-format/cdfz/archive/internal/plan"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/filters"
	"github.com/cdfz-format/cdfz/internal/ioat"
	"github.com/cdfz-format/cdfz/unlimited"
)

// Loss describes values that were rounded before they were archived, on the user's
// request: docs/FORMAT.md, "Loss". Such an archive restores the rounded image, not the
// source.
type Loss struct {
	SourceSHA256 string // of the file before rounding, in hexadecimal digits
	Vars         []RoundedVar
}

// RoundedVar is a variable whose values were rounded.
type RoundedVar struct {
	Var    int // its number
	Filter filters.Filter
}

// lossOf returns the public form of a manifest's loss.
func lossOf(l *plan.Loss) *Loss {
	if l == nil {
		return nil
	}
	out := &Loss{SourceSHA256: l.SourceSHA256}
	for _, v := range l.Vars {
		out.Vars = append(out.Vars, RoundedVar{v.Var, filters.Filter{ID: v.Filter, Params: slices.Clone(v.Params)}})
	}
	return out
}

// roundedImage is an image with the values of some variables rounded.
type roundedImage struct {
	*ioat.Source
	r    *ioat.Source // that is rounded
	size int64
	vars []roundedVar
}

// roundedVar is a variable of a roundedImage.
type roundedVar struct {
	num    int
	seg    unlimited.Segment
	elem   int64 // bytes of an element
	filter filters.Filter
	round  func(dst, src []byte, params []uint32) ([]byte, error)
}

// newRounded returns the image with the values of the variables in o.Lossy rounded, and
// adds to o what is not rounded and what was lost. It reads the source once for its
// SHA-256.
func newRounded(ctx context.Context, image io.ReaderAt, size int64, h *cdf3.Header, o *WriteOptions) (*roundedImage, error) {
	r := &roundedImage{r: ioat.Of(image), size: size}
	r.Source = r.r.With(r.read)
	segs, why := unlimited.Plan(h, size)
	o.Filters = slices.Clone(o.Filters)
	for _, name := range o.Lossy {
		i := slices.IndexFunc(h.Vars, func(v cdf3.Var) bool { return v.Name == name })
		if i < 0 {
			return nil, fault.Optionsf("lossy variable %q, which the file does not have", name)
		}
		if why[i] != unlimited.Blocked {
			return nil, fault.Optionsf("variable %q cannot be rounded: %s", name, why[i])
		}
		f, err := o.roundingFilter(&h.Vars[i])
		if err != nil {
			return nil, err
		}
		m, _ := filters.Lookup(f.ID)
		r.vars = append(r.vars, roundedVar{num: i, seg: segs[i], elem: h.Vars[i].Type.Size(), filter: f, round: m.Round})
	}
	slices.SortFunc(r.vars, func(a, b roundedVar) int { return cmp.Compare(a.num, b.num) })
	sum := sha256.New()
	if _, err := io.CopyBuffer(sum, io.NewSectionReader(ioat.Bind(ctx, image), 0, size), make([]byte, 1<<20)); err != nil {
		return nil, fmt.Errorf("archive: reading the image: %w", err)
	}
	loss := &plan.Loss{SourceSHA256: hex.EncodeToString(sum.Sum(nil))}
	for i, v := range r.vars {
		if i > 0 && v.num == r.vars[i-1].num {
			return nil, fault.Optionsf("lossy variable %q is named twice", h.Vars[v.num].Name)
		}
		loss.Vars = append(loss.Vars, plan.LossVar{Var: v.num, Filter: v.filter.ID, Params: v.filter.Params})
	}
	o.loss = loss
	return r, nil
}

// roundingFilter returns the filter that rounds a variable, the first of its chain, with
// the values that mark missing ones, which it must not round. It sets them in the chain.
func (o *WriteOptions) roundingFilter(v *cdf3.Var) (filters.Filter, error) {
	for i := range o.Filters {
		f := &o.Filters[i]
		at := slices.Index(f.Vars, v.Name)
		if at < 0 || len(f.Chain) == 0 {
			continue
		}
		first := f.Chain[0]
		m, ok := filters.Lookup(first.ID)
		if !ok || m.Round == nil || first.Optional {
			break
		}
		b := filters.Block{Kind: plan.BlockKinds[v.Type], Size: int(v.Type.Size())}
		full, err := filters.Chain{first}.Complete(b)
		if err != nil {
			return first, fmt.Errorf("archive: variable %q: %w", v.Name, err)
		}
		kept := 0
		for _, p := range markers(v) {
			got, err := m.Round(nil, p, full[0].Params)
			if err != nil {
				return first, fmt.Errorf("archive: variable %q: %w", v.Name, err)
			}
			if string(got) == string(p) {
				continue
			}
			full[0].Params = append(full[0].Params, words(p)...)
			// Only the filter knows how many values it can keep.
			if m.Check != nil && m.Check(full[0].Params) != nil {
				return first, fault.Optionsf("lossy variable %q: expected at most %d values in _FillValue and missing_value that rounding would change, found more", v.Name, kept)
			}
			kept++
		}
		chain := f.Chain.Clone()
		chain[0].Params = full[0].Params
		f.Vars = slices.Delete(slices.Clone(f.Vars), at, at+1)
		o.Filters = append(o.Filters, VarFilter{Vars: []string{v.Name}, Chain: chain})
		return full[0], nil
	}
	return filters.Filter{}, fault.Optionsf("lossy variable %q: expected a chain for it alone that begins with a rounding filter, such as quantize or bitround", v.Name)
}

// markers returns the values of a variable that mark missing ones: its _FillValue, or else
// the default one of netCDF, and its missing_value.
func markers(v *cdf3.Var) [][]byte {
	var out [][]byte
	size := int(v.Type.Size())
	filled := false
	for i := range v.Attrs {
		a := &v.Attrs[i]
		if a.Name != "_FillValue" && a.Name != "missing_value" || a.Type != v.Type {
			continue
		}
		filled = filled || a.Name == "_FillValue"
		for p := a.Values; len(p) >= size; p = p[size:] {
			out = append(out, p[:size])
		}
	}
	if !filled {
		out = append(out, v.Type.Fill())
	}
	slices.SortFunc(out, func(a, b []byte) int { return cmp.Compare(string(a), string(b)) })
	return slices.CompactFunc(out, func(a, b []byte) bool { return string(a) == string(b) })
}

// words returns a big-endian element as parameters, the low word first.
func words(p []byte) []uint32 {
	var b [8]byte
	copy(b[8-len(p):], p)
	return []uint32{binary.BigEndian.Uint32(b[4:]), binary.BigEndian.Uint32(b[:])}
}

// read reads the source and rounds the values.
func (r *roundedImage) read(ctx context.Context, p []byte, off int64) (int, error) {
	src := ioat.Bind(ctx, r.r)
	n, err := src.ReadAt(p, off)
	end := off + int64(n)
	for i := range r.vars {
		if e := r.vars[i].roundIn(src, p[:n], off, end); e != nil {
			return 0, e
		}
	}
	return n, err
}

// roundIn rounds the values in p, which holds the bytes [off, end) of the image.
func (v *roundedVar) roundIn(src io.ReaderAt, p []byte, off, end int64) error {
	s := v.seg
	first, last := int64(0), s.Count-1
	if s.Stride > 0 {
		first = max(0, (off-s.Off)/s.Stride)
		last = min(last, (end-1-s.Off)/s.Stride)
	}
	for k := first; k <= last; k++ {
		start := s.Off + k*s.Stride
		lo, hi := max(off, start), min(end, start+s.Len)
		if lo >= hi {
			continue
		}
		if err := v.roundRun(src, p, off, start, lo, hi); err != nil {
			return err
		}
	}
	return nil
}

// roundRun rounds the bytes [lo, hi) of a run of values that begins at byte start. Values
// that p holds in part are read from the source.
func (v *roundedVar) roundRun(src io.ReaderAt, p []byte, off, start, lo, hi int64) error {
	for lo < hi {
		at := start + (lo-start)/v.elem*v.elem
		if at == lo && hi-lo >= v.elem {
			n := min((hi-lo)/v.elem*v.elem, roundStep)
			values := p[lo-off : lo-off+n]
			out, err := v.round(nil, values, v.filter.Params)
			if err != nil {
				return err
			}
			lo += int64(copy(values, out))
			continue
		}
		value := make([]byte, v.elem)
		if err := ioat.ReadFull(src, value, at); err != nil {
			return fmt.Errorf("archive: reading the image: %w", err)
		}
		out, err := v.round(nil, value, v.filter.Params)
		if err != nil {
			return err
		}
		lo += int64(copy(p[lo-off:hi-off], out[lo-at:]))
	}
	return nil
}

// roundStep is the number of bytes that are rounded at a time.
const roundStep = 64 << 10

var _ io.ReaderAt = (*roundedImage)(nil)
