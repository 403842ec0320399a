package plan

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/cdfz-format/cdfz/archive/internal/czip"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/filters"
	"github.com/cdfz-format/cdfz/unlimited"
)

// ErrMetadata: a layout with more metadata than a reader may accept, or than a view is
// worth.
var ErrMetadata = errors.New("metadata larger than the format allows")

// PlanOptions decide what a plan leaves open; lengths in bytes.
type PlanOptions struct {
	Block int64 // target size of a block
	// PoolBlock is the target size of a block of a pool. 0: Block, at most 256 KiB.
	PoolBlock int64
	Memory    int64         // for the blocks of record variables that are collected together
	Head      filters.Chain // of the block with the netCDF header, as a user would write it
	Joined    int64         // a rest of at most so many bytes after the header shares the header's block
	Rest      filters.Chain // of the further blocks of the rest
	// Chain returns the chain of a variable, and Pool that of a pool of variables of type t.
	// Variables that are Named, because the user has chosen a chain for them, are in no pool.
	Chain func(name string, t cdf3.Type, g *Geometry) (filters.Chain, error)
	Pool  func(vars []int, t cdf3.Type, g *Geometry) (filters.Chain, error)
	// Filtered variables are those named with at least one filter or a block shape. They have
	// blocks however small they are.
	Named func(name string) (named, filtered bool)
	// Trial returns the stored bytes of the blocks of variables, one after another, so that
	// only pools that pay are made. Nil: all of them.
	Trial func(vars []int, c filters.Chain, g *Geometry) (int64, error)
	// Pools, if not nil, are the pools, as another plan for the same header has them, but for
	// variables that are Named. Pools without a Block have blocks of PoolBlock.
	Pools []PlanPool
	// Shape, if not nil, returns the block shape of variable n, or nil for the shape that
	// follows from Block.
	Shape func(n int) ([]int64, error)
	// Headers bounds the local headers and directory records of blocks. A plan that has
	// more of them is ErrMetadata.
	Headers int64
	// Kept, if not nil, returns the codecs of a chain of blocks of n bytes as another archive
	// has them, and why they are not in its view. ok is false if they are not to be kept.
	Kept func(c filters.Chain, n int64) (f []PlanFilter, why NotViewed, ok bool)
}

// NewPlan makes the plan of an image from its header and the options.
func NewPlan(ctx context.Context, h *cdf3.Header, size int64, o *PlanOptions, lay Layout) (*Resolved, error) {
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
	o       *PlanOptions
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
		if b.o.Kept != nil {
			if kept, w, ok := b.o.Kept(c, blockLen); ok {
				pf, why = slices.Clone(kept), w
			}
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
	var pools []*pool
	switch {
	case b.lay != Pooled:
	case b.o.Pools != nil:
		pools = b.givenPools()
	default:
		var err error
		if pools, err = b.poolsThatPay(choosePools(b.ctx, h, b.o.poolBlock(), b.mayPool(reasons))); err != nil {
			return err
		}
	}
	for _, p := range pools {
		for _, n := range p.vars {
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
		if _, filtered := b.o.Named(v.Name); names.Pooled && v.Len < pooledBelow && !filtered {
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
	var block []int64
	if b.o.Shape != nil {
		var err error
		if block, err = b.o.Shape(i); err != nil {
			return err
		}
	}
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
	chain, err := b.o.Chain(v.Name, v.Type, g)
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

// mayPool lists the variables that may lie in pools.
func (b *planBuilder) mayPool(reasons []unlimited.Reason) []int {
	vars := make([]int, 0, len(b.h.Vars))
	for i := range b.h.Vars {
		if reasons[i] == unlimited.Blocked && b.h.Vars[i].Len > 0 && !b.ownBlocks(i) {
			vars = append(vars, i)
		}
	}
	return vars
}

// ownBlocks reports whether the user has chosen a chain or a block shape for variable n, so that it is in
// no pool.
func (b *planBuilder) ownBlocks(n int) bool {
	v := &b.h.Vars[n]
	named, filtered := b.o.Named(v.Name)
	return filtered || named && v.Len >= pooledBelow
}

// addPool adds a pool to the plan.
func (b *planBuilder) addPool(p *pool) error {
	pp, g, chain, err := b.layPool(p)
	if err != nil {
		return err
	}
	pp.Chain, _ = b.chain(chain, g.BlockLen)
	b.p.Rest.Len -= p.bytes
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
