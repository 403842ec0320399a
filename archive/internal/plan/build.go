package plan

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/cdfz-format/cdfz/archive/internal/czip"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/filters"
	"github.com/cdfz-format/cdfz/unlimited"
)

// NewPlan makes the plan of an image of size bytes in a layout.
func NewPlan(ctx context.Context, h *cdf3.Header, size int64, o *Spec, lay Layout) (*Resolved, error) {
	p := &Plan{
		Format: formatVersion, Features: features, Writer: "cdfz " + Version,
		Image: PlanImage{size, h.Len}, Block: o.Block, Vars: []PlanVar{}, Groups: [][]int{},
	}
	if lay.HasView() {
		p.Zarr = lay
	}
	b := planBuilder{ctx: ctx, p: p, lay: lay, h: h, o: o, chains: map[string]int{}, known: map[string]planChain{}, headers: o.Headers}
	rest, _ := b.chain(o.Rest, 0)
	p.Rest = PlanRest{Len: size, First: h.Len, Block: o.Block, Chain: rest}
	if lay == Single {
		if size < SmallImage {
			p.Rest.First = max(h.Len, min(size, MaxFirst))
			if size > MaxFirst {
				p.Rest.Block = MaxFirst
			}
		}
	} else if err := b.addVars(); err != nil {
		return nil, err
	} else if p.Rest.Len-h.Len <= o.Joined && p.Rest.Len <= MaxFirst {
		p.Rest.First = p.Rest.Len
	}
	full, err := o.Head.Complete(filters.Block{Len: int(p.Rest.First), Kind: filters.Text, Size: 1})
	if err != nil {
		return nil, fmt.Errorf("archive: chain of the header: %w", err)
	}
	if head, _ := b.chain(full, 0); head != rest {
		p.Rest.Head = &head
	}
	b.group(o.Memory)
	if len(p.Chains) > MaxChains || b.filters > MaxFilters || b.params > MaxParams {
		return nil, fmt.Errorf("archive: %d chains of %d filters with %d parameters: %w", len(p.Chains), b.filters, b.params, ErrMetadata)
	}
	l, err := newResolved(ctx, p)
	if err == nil {
		err = l.SetHeader(ctx, h)
	}
	if err != nil && ctx.Err() == nil {
		err = fmt.Errorf("archive: internal error: %w", err)
	}
	return l, err
}

type planBuilder struct {
	ctx     context.Context
	p       *Plan
	lay     Layout
	h       *cdf3.Header
	o       *Spec
	chains  map[string]int
	known   map[string]planChain
	headers int64 // of blocks, that the plan may still have
	filters int   // of all chains
	params  int   // of all filters
	geoms   []*Geometry
}

// planChain is a chain of blocks of one length.
type planChain struct {
	number int
	view   NotViewed
}

// chain numbers a chain, and returns why blocks of blockLen bytes are not in the view.
// Codecs serve a view only.
func (b *planBuilder) chain(c filters.Chain, blockLen int64) (int, NotViewed) {
	key := make([]byte, 0, 64)
	for _, f := range c {
		key = strconv.AppendQuote(append(append(key, f.String()...), ' '), f.Name)
	}
	text := string(key)
	key = append(key, ' ')
	key = strconv.AppendInt(key, blockLen, 10)
	if k, ok := b.known[string(key)]; ok {
		return k.number, k.view
	}
	var pf []PlanFilter
	var why NotViewed
	if b.p.Zarr.HasView() {
		pf, why = PlanFilters(c, blockLen)
		if kept, w, ok := b.o.keptCodecs(c, blockLen); ok {
			pf, why = slices.Clone(kept), w
		}
		text = string(EncodeJSON(pf))
	} else {
		pf = withoutCodecs(c)
	}
	n, ok := b.chains[text]
	if !ok {
		n = len(b.p.Chains)
		b.chains[text] = n
		b.p.Chains = append(b.p.Chains, pf)
		b.filters += len(c)
		for _, f := range c {
			b.params += len(f.Params)
		}
	}
	b.known[string(key)] = planChain{n, why}
	return n, why
}

// addVars adds the variables that have blocks, and the pools.
func (b *planBuilder) addVars() error {
	h := b.h
	segs, reasons := unlimited.Plan(h, b.p.Image.Size)
	pooled := make([]bool, len(h.Vars))
	var pools []*Pool
	if b.lay == Pooled {
		pools = b.o.Pools
	}
	for _, p := range pools {
		for _, n := range p.Vars {
			pooled[n] = true
		}
	}
	names := PathNames{Pooled: b.lay == Pooled, Taken: map[string]bool{}}
	for i := range h.Vars {
		if i%liveEvery == 0 {
			if err := b.ctx.Err(); err != nil {
				return err
			}
		}
		v := &h.Vars[i]
		if pooled[i] || reasons[i] != unlimited.Blocked || len(v.Shape) > MaxRank {
			continue
		}
		if names.Pooled && v.Len < PooledBelow && !b.o.Vars[i].Filtered {
			continue
		}
		if err := b.addVar(i, segs[i], &names); err != nil {
			return err
		}
	}
	for _, p := range pools {
		if err := b.addPool(p); err != nil {
			return err
		}
	}
	return nil
}

// addVar adds a blocked variable to the plan, unless the names of its blocks would be too
// long.
func (b *planBuilder) addVar(i int, seg unlimited.Segment, names *PathNames) error {
	v := &b.h.Vars[i]
	block := b.o.Vars[i].Block
	if block == nil {
		block = BlockShape(v.Shape, v.Type.Size(), b.o.Block)
	}
	g, err := NewGeometry(v.Shape, block, v.Type.Size())
	if err != nil {
		return fmt.Errorf("archive: internal error: variable %q: %w", v.Name, err)
	}
	_, longest := g.KeysLen()
	path, ok := names.Of(v.Name, i, longest)
	if !ok {
		return nil // the names of its blocks would be too long
	}
	per := czip.LocalFixed + czip.CentralFixed + 2*int64(len(path))
	if g.Blocks > b.headers/per {
		return fmt.Errorf("archive: %w", ErrMetadata)
	}
	b.headers -= g.Blocks * per
	chain, err := b.o.ChainOf(v, i, g)
	if err != nil {
		return err
	}
	b.p.Rest.Len -= v.Len
	number, unviewed := b.chain(chain, g.BlockLen)
	array := &PlanArray{v.Type.String(), nonNil(g.Shape), nonNil(g.Block)}
	pv := PlanVar{Var: i, Path: path, PlanArray: array, Chain: number, Segment: seg}
	if b.p.Zarr.HasView() {
		pv.View = ViewAt(path, unviewed)
	}
	b.p.Vars = append(b.p.Vars, pv)
	b.geoms = append(b.geoms, g)
	return nil
}

// addPool adds a pool to the plan.
func (b *planBuilder) addPool(p *Pool) error {
	g, err := p.Geometry()
	if err != nil {
		return err
	}
	chain, err := p.ChainOf(g)
	if err != nil {
		return err
	}
	pp := p.PlanPool
	pp.Chain, _ = b.chain(chain, g.BlockLen)
	b.p.Rest.Len -= p.Bytes
	b.p.Pools = append(b.p.Pools, pp)
	return nil
}

// nonNil turns a nil list into an empty one, for JSON.
func nonNil(s []int64) []int64 {
	if s == nil {
		return []int64{}
	}
	return s
}

// group decides the stored order. Fixed variables are groups of one. Record variables
// are grouped as far as their blocks fit the memory. Everything is in the order of
// the image.
func (b *planBuilder) group(memory int64) {
	order := make([]int, len(b.p.Vars))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(x, y int) int {
		xo, yo := b.p.Vars[x].Segment.Off, b.p.Vars[y].Segment.Off
		switch {
		case xo < yo:
			return -1
		case xo > yo:
			return 1
		}
		return 0
	})
	var open []int // the current group of record variables
	used := int64(0)
	flush := func() {
		if len(open) > 0 {
			b.p.Groups = append(b.p.Groups, open)
			open, used = nil, 0
		}
	}
	for _, i := range order {
		if b.p.Vars[i].Segment.Count <= 1 {
			flush()
			b.p.Groups = append(b.p.Groups, []int{i})
			continue
		}
		need := b.geoms[i].BlockLen
		if len(open) > 0 && used > math.MaxInt64-need || used+need > memory {
			flush()
		}
		open = append(open, i)
		used += need
	}
	flush()
}
