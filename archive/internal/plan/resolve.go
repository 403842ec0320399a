package plan

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/cdfz-format/cdfz/archive/internal/czip"
	"github.com/cdfz-format/cdfz/archive/internal/fault"
	"github.com/cdfz-format/cdfz/blockidx"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/filters"
	"github.com/cdfz-format/cdfz/unlimited"
)

// Resolved is a plan with everything that is computed from it. Variables with blocks of
// their own and pools are both *arrays*: element v of Geoms is that of variable v of the
// plan, or of pool v - len(Vars).
type Resolved struct {
	*Plan
	Perm       *unlimited.Layout // set by SetHeader: a segment for each variable, then for each of the pools
	Geoms      []*Geometry
	Filters    []filters.Chain
	restOff    int64 // raw offset of the rest
	RestFirst  int64 // global number of the rest's block 0
	RestBlocks int64
	Blocks     int64 // number of all blocks
	room       room
}

// room is memory for the geometries of a plan, allocated for many at once.
type room struct {
	geoms []Geometry
	cuts  []cut
	grids []int64
	like  [recentArrays]*cut // recent ones
	next  int                // the oldest of like
}

// cutsRoom is the number of cuts that are allocated at once.
const cutsRoom = 16

// geometry returns the geometry of the next array of a plan. Most have the shape of an array
// before.
func (r *room) geometry(p *Plan, shape, block []int64, size int64) (*Geometry, error) {
	if len(r.geoms) == 0 {
		r.geoms = make([]Geometry, len(p.Vars)+len(p.Pools))
	}
	g := &r.geoms[0]
	r.geoms = r.geoms[1:]
	for _, c := range r.like {
		if c != nil && c.Size == size && slices.Equal(c.Shape, shape) && slices.Equal(c.Block, block) {
			g.cut = c
			return g, nil
		}
	}
	if len(r.cuts) == 0 {
		r.cuts = make([]cut, min(cutsRoom, len(r.geoms)+1))
	}
	if n := len(shape); n > len(r.grids) {
		r.grids = make([]int64, max(n, 4*len(r.cuts)))
	}
	c, grid := &r.cuts[0], r.grids[:len(shape):len(shape)]
	r.cuts, r.grids = r.cuts[1:], r.grids[len(shape):]
	if err := c.set(shape, block, grid, size); err != nil {
		return nil, err
	}
	g.cut, r.like[r.next] = c, c
	r.next = (r.next + 1) % recentArrays
	return g, nil
}

// ParsePlan decodes and checks a plan. All of its numbers are claims.
func ParsePlan(ctx context.Context, b []byte) (*Resolved, error) {
	p, err := ReadPlan(ctx, b)
	if err != nil {
		return nil, err
	}
	return newResolved(ctx, p)
}

// newResolved checks a plan and computes the derived data.
func newResolved(ctx context.Context, p *Plan) (*Resolved, error) {
	l := &Resolved{Plan: p, Geoms: make([]*Geometry, 0, len(p.Vars)+len(p.Pools))}
	if !p.Image.valid() {
		return nil, fault.Corruptf("plan: header of %d bytes in an image of %d", p.Image.Header, p.Image.Size)
	}
	if err := l.setFilters(); err != nil {
		return nil, err
	}
	for i := range p.Vars {
		if i%liveEvery == 0 {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
		}
		if err := l.checkVar(i); err != nil {
			return nil, err
		}
	}
	for i := range p.Pools {
		if err := l.checkPool(i); err != nil {
			return nil, err
		}
	}
	if err := l.checkRest(); err != nil {
		return nil, err
	}
	return l, l.checkGroups()
}

// Head is what decoding block 0 of the rest needs of a plan: lengths in bytes, all checked.
type Head struct {
	Image PlanImage
	First int64         // decoded block
	Chain filters.Chain // of the block
}

// Head returns the head of a plan.
func (l *Resolved) Head() Head {
	return Head{l.Image, l.Rest.First, l.Filters[l.HeadChain()]}
}

// peeked is the length of the text in which PeekHead looks for the variables.
const peeked = 8 << 10

// PeekHead returns the head of a plan from the text before its variables, which is a small part
// of a long plan. payload is the deflated plan. ok is false if the head is not found there. It is
// that of the whole plan, if the whole plan is valid.
func PeekHead(ctx context.Context, payload []byte) (h Head, ok bool) {
	text := czip.InflateStart(payload, peeked)
	const vars = `,"vars":[`
	at := bytes.Index(text, []byte(vars))
	if at < 0 {
		return Head{}, false
	}
	p, err := ReadPlan(ctx, append(text[:at:at], vars+`],"groups":[]}`...))
	if err != nil {
		return Head{}, false
	}
	l := &Resolved{Plan: p}
	if !p.Image.valid() || l.setFilters() != nil || !l.firstValid() {
		return Head{}, false
	}
	return l.Head(), true
}

func (i PlanImage) valid() bool { return i.Header >= 0 && i.Header <= maxHeader && i.Size >= i.Header }

// setFilters derives the chains.
func (l *Resolved) setFilters() error {
	for i, c := range l.Chains {
		if len(c) > filters.MaxFilters {
			return fault.Corruptf("plan: chain %d has too many filters: %d", i, len(c))
		}
		chain := make(filters.Chain, len(c))
		for j, f := range c {
			chain[j] = filters.Filter{ID: f.ID, Params: f.Params, Optional: f.Optional, Name: f.Name}
		}
		l.Filters = append(l.Filters, chain)
	}
	return nil
}

// firstValid reports whether the length and the chain of the rest's block 0 are valid.
func (l *Resolved) firstValid() bool {
	first, chain := l.Rest.First, l.HeadChain()
	return first >= l.Image.Header && first <= l.Rest.Len && first <= max(l.Image.Header, MaxFirst) && chain >= 0 && chain < len(l.Filters)
}

func (l *Resolved) checkVar(i int) error {
	v := &l.Vars[i]
	if v.Var < 0 || i > 0 && v.Var <= l.Vars[i-1].Var {
		return fault.Corruptf("plan: variable %d out of order", v.Var)
	}
	if !validPath(v.Path) && v.Path != czip.VarPrefix+strconv.Itoa(v.Var) {
		return fault.Corruptf("plan: variable %d has the invalid path %q", v.Var, v.Path)
	}
	g, err := l.addArray(v.Type, v.Shape, v.Block, v.Chain)
	if err != nil {
		return fmt.Errorf("variable %d: %w", v.Var, err)
	}
	s := v.Segment
	if n, ok := mul(s.Len, s.Count); s.Len < 0 || s.Count < 0 || !ok || n != g.RawLen {
		return fault.Corruptf("plan: variable %d: %d runs of %d bytes for a shape of %d bytes", v.Var, s.Count, s.Len, g.RawLen)
	}
	return nil
}

func (l *Resolved) checkPool(i int) error {
	p := &l.Pools[i]
	if len(p.Vars) == 0 {
		return fault.Corruptf("plan: pool %d has no variables", i)
	}
	g, err := l.addArray(p.Type, p.Shape, p.Block, p.Chain)
	if err == nil && g.RawLen == 0 {
		err = fault.Corruptf("plan: no bytes")
	}
	if err != nil {
		return fmt.Errorf("pool %d: %w", i, err)
	}
	return nil
}

// addArray checks what variables and pools have in common, and numbers their blocks.
func (l *Resolved) addArray(typ string, shape, block []int64, chain int) (*Geometry, error) {
	t, ok := cdf3.TypeByName(typ)
	if !ok {
		return nil, fault.Corruptf("plan: unknown type %q", typ)
	}
	if chain < 0 || chain >= len(l.Filters) {
		return nil, fault.Corruptf("plan: chain %d, but there are %d chains", chain, len(l.Filters))
	}
	g, err := l.room.geometry(l.Plan, shape, block, t.Size())
	if err != nil {
		return nil, err
	}
	g.First, g.RawOff = l.Blocks, l.restOff
	l.Blocks += g.Blocks
	l.restOff += g.RawLen
	if l.restOff < 0 || l.restOff > l.Image.Size || g.Blocks > l.Image.Size || l.Blocks < 0 {
		return nil, fault.Corruptf("plan: an array of %d bytes does not fit the image of %d bytes", g.RawLen, l.Image.Size)
	}
	l.Geoms = append(l.Geoms, g)
	return g, nil
}

func (l *Resolved) checkRest() error {
	r := &l.Rest
	rest := l.Image.Size - l.restOff
	if r.Len != rest || !l.firstValid() || r.Chain < 0 || r.Chain >= len(l.Filters) || r.Block < 1 || r.Block > maxBlock {
		return fault.Corruptf("plan: rest of %d bytes in blocks of %d and %d, chain %d; expected %d bytes",
			r.Len, r.First, r.Block, r.Chain, rest)
	}
	l.RestFirst = l.Blocks
	l.RestBlocks = 1 + CeilDiv(r.Len-r.First, r.Block)
	l.Blocks += l.RestBlocks
	if _, err := blockidx.Size(l.Blocks); err != nil {
		return fault.Corruptf("plan: too many blocks: %d", l.Blocks)
	}
	return nil
}

func (l *Resolved) checkGroups() error {
	seen := make([]bool, len(l.Vars))
	n := 0
	for _, g := range l.Groups {
		for _, i := range g {
			if i < 0 || i >= len(seen) || seen[i] {
				return fault.Corruptf("plan: group names variable %d of %d wrongly or twice", i, len(seen))
			}
			seen[i] = true
			n++
		}
	}
	if n != len(seen) {
		return fault.Corruptf("plan: groups name %d of %d variables", n, len(seen))
	}
	return nil
}

// SetHeader compares the plan with the netCDF header and completes the permutation, whose
// segments for the variables of pools follow from the header.
func (l *Resolved) SetHeader(ctx context.Context, h *cdf3.Header) error {
	n := len(l.Vars)
	for i := range l.Pools {
		n += len(l.Pools[i].Vars)
	}
	if n > len(h.Vars) {
		return fault.Corruptf("plan: %d variables, but the netCDF header has %d", n, len(h.Vars))
	}
	segs := make([]unlimited.Segment, 0, n)
	blocked := make([]bool, len(h.Vars))
	use := func(n int) (*cdf3.Var, error) {
		if n < 0 || n >= len(h.Vars) {
			return nil, fault.Corruptf("plan: variable %d, but the netCDF header has %d variables", n, len(h.Vars))
		}
		if blocked[n] {
			return nil, fault.Corruptf("plan: variable %d is named twice", n)
		}
		if len(segs)%liveEvery == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		blocked[n] = true
		segs = append(segs, unlimited.SegmentOf(h, &h.Vars[n]))
		return &h.Vars[n], nil
	}
	for i := range l.Vars {
		v := &l.Vars[i]
		w, err := use(v.Var)
		if err != nil {
			return err
		}
		if v.Type != w.Type.String() || !slices.Equal(v.Shape, w.Shape) {
			return fault.Corruptf("plan: variable %d is %s%v, in the netCDF header %s%v", v.Var, v.Type, v.Shape, w.Type, w.Shape)
		}
		if s := segs[i]; s != v.Segment {
			return fault.Corruptf("plan: variable %d has segment %+v, in the netCDF header %+v", v.Var, v.Segment, s)
		}
	}
	for i := range l.Pools {
		p, left := &l.Pools[i], l.Geoms[len(l.Vars)+i].RawLen
		for _, n := range p.Vars {
			w, err := use(n)
			if err != nil {
				return err
			}
			if p.Type != w.Type.String() {
				return fault.Corruptf("plan: variable %d of pool %d is %s, in the netCDF header %s", n, i, p.Type, w.Type)
			}
			if w.Len <= 0 || w.Len > left {
				return fault.Corruptf("plan: variable %d of pool %d has %d bytes, there is room for %d", n, i, w.Len, left)
			}
			left -= w.Len
		}
		if left > 0 {
			return fault.Corruptf("plan: pool %d has %d bytes more than its variables", i, left)
		}
	}
	var err error
	if l.Perm, err = unlimited.New(l.Image.Size, l.Image.Header, segs); err != nil {
		return fault.Corruptf("plan: %v", err)
	}
	return nil
}
