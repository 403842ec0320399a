package plan

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/filters"
)

// The numbers of docs/FORMAT.md, "Pools".
const (
	pooledBelow = 4096      // bytes of a variable that has blocks only in a pool, unless it is in a view
	poolTarget  = 256 << 10 // bytes of a block of a pool, unless PlanOptions has another target
	LongPool    = 1 << 20   // the longer target that writers try
	textTargets = 2         // blocks of text are longer
	stackShare  = 4         // variables below this share of the target are stacked
	mixedShare  = 16        // variables below this share are pooled with others of any shape
	poolLeast   = 512       // bytes of a pool
	maxStacks   = 512
	stackRank   = 32 // dimensions of variables that are stacked

	poolCost   = 180   // bytes that another block and its place in the plan take
	restBelow  = 16384 // bytes of a pool of numbers below which the rest is tried, too
	wellStored = 2     // the part of its bytes below which a pool is kept without looking further,
	wellText   = 32    // and that part for text
)

// pool is variables that are to share blocks.
type pool struct {
	t       cdf3.Type
	vars    []int
	bytes   int64
	longest int64   // bytes of the longest variable
	shape   []int64 // of the first variable, and in a stack of each
	stack   bool
	block   int64 // the first dimension of its blocks, or 0 for those of the target size
}

// choosePools divides the given variables of a header, none of them empty, into pools:
// stacks of equal shapes first, then the remaining variables of each type. Variables in no
// pool are blocked or stay in the rest. target is the target size of blocks, in bytes.
func choosePools(ctx context.Context, h *cdf3.Header, target int64, vars []int) []*pool {
	byShape, byType := map[string]*pool{}, map[cdf3.Type]*pool{}
	var stacks, mixed []*pool
	var key []byte
	for i, n := range vars {
		if i%liveEvery == 0 && ctx.Err() != nil {
			return nil // the caller looks at the context, too
		}
		v := &h.Vars[n]
		if v.Type == cdf3.Char || v.Len >= max(target/stackShare, pooledBelow) || len(v.Shape) > stackRank {
			continue
		}
		key = binary.AppendUvarint(key[:0], uint64(v.Type))
		for _, d := range v.Shape {
			key = binary.AppendUvarint(key, uint64(d))
		}
		p := byShape[string(key)]
		if p == nil {
			p = &pool{t: v.Type, shape: v.Shape, stack: true}
			byShape[string(key)] = p
			stacks = append(stacks, p)
		}
		p.add(n, v)
	}
	stacks = slices.DeleteFunc(stacks, func(p *pool) bool { return len(p.vars) < 2 || p.bytes < target/mixedShare })
	stacks = stacks[:min(len(stacks), maxStacks)]
	stacked := make([]bool, len(h.Vars))
	for _, p := range stacks {
		for _, n := range p.vars {
			stacked[n] = true
		}
	}
	for _, n := range vars {
		v := &h.Vars[n]
		limit := max(target/mixedShare, pooledBelow)
		if v.Type == cdf3.Char {
			limit = max(textTargets*target, pooledBelow)
		}
		if stacked[n] || v.Len >= limit {
			continue
		}
		p := byType[v.Type]
		if p == nil {
			p = &pool{t: v.Type, shape: v.Shape, stack: v.Type != cdf3.Char && len(v.Shape) <= stackRank}
			byType[v.Type] = p
			mixed = append(mixed, p)
		}
		p.stack = p.stack && slices.Equal(v.Shape, p.shape)
		p.add(n, v)
	}
	for _, p := range mixed {
		p.stack = p.stack && len(p.vars) > 1
	}
	// A variable alone is better off with blocks of its shape.
	mixed = slices.DeleteFunc(mixed, func(p *pool) bool {
		return p.bytes < poolLeast || len(p.vars) == 1 && p.bytes >= pooledBelow
	})
	return append(stacks, mixed...)
}

func (p *pool) add(n int, v *cdf3.Var) {
	p.vars = append(p.vars, n)
	p.bytes += v.Len
	p.longest = max(p.longest, v.Len)
}

// plan returns the pool as the plan has it, without a chain.
func (p *pool) plan(target int64) PlanPool {
	shape := []int64{p.bytes / p.t.Size()}
	switch {
	case p.stack:
		shape = append([]int64{int64(len(p.vars))}, p.shape...)
	case p.t == cdf3.Char:
		target *= textTargets
	case p.bytes > target:
		target /= 2 // since a variable may lie in two blocks
	}
	block := slices.Clone(shape)
	row := p.bytes / shape[0]
	block[0] = min(p.block, shape[0])
	if p.block == 0 {
		block[0] = CeilDiv(shape[0], CeilDiv(shape[0], max(1, target/row)))
	}
	return PlanPool{Vars: p.vars, Type: p.t.String(), Shape: shape, Block: block}
}

// poolBlock returns the target size of the blocks of pools.
func (o *PlanOptions) poolBlock() int64 {
	if o.PoolBlock > 0 {
		return o.PoolBlock
	}
	return min(o.Block, poolTarget)
}

// givenPools returns the pools that the options have, without variables that have blocks of
// their own.
func (b *planBuilder) givenPools() []*pool {
	var pools []*pool
	for _, given := range b.o.Pools {
		p := &pool{}
		for _, n := range given.Vars {
			v := &b.h.Vars[n]
			if b.ownBlocks(n) {
				continue
			}
			if len(p.vars) == 0 {
				p.t, p.shape, p.stack = v.Type, v.Shape, v.Type != cdf3.Char
			}
			p.stack = p.stack && len(v.Shape) == len(given.Shape)-1
			p.add(n, v)
		}
		if len(given.Block) > 0 {
			p.block = given.Block[0]
		}
		if len(p.vars) > 0 {
			pools = append(pools, p)
		}
	}
	return pools
}

// layPool returns a pool as the plan has it but for the number of its chain.
func (b *planBuilder) layPool(p *pool) (PlanPool, *Geometry, filters.Chain, error) {
	pp := p.plan(b.o.poolBlock())
	g, err := NewGeometry(pp.Shape, pp.Block, p.t.Size())
	if err != nil {
		return pp, nil, nil, fmt.Errorf("archive: internal error: pool: %w", err)
	}
	g.Stack = p.stack && pp.Block[0] > 1
	chain, err := b.o.Pool(p.vars, p.t, g)
	return pp, g, chain, err
}

// poolsThatPay drops the pools whose variables take fewer bytes as blocked variables or in
// the rest.
func (b *planBuilder) poolsThatPay(pools []*pool) ([]*pool, error) {
	if b.o.Trial == nil {
		return pools, nil
	}
	var keep []*pool
	for _, p := range pools {
		pays, err := b.pays(p)
		if err != nil {
			return nil, err
		}
		if pays {
			keep = append(keep, p)
		}
	}
	return keep, nil
}

// pays reports whether a pool takes no more bytes than its variables would elsewhere. It
// tries what takes the least time first.
func (b *planBuilder) pays(p *pool) (bool, error) {
	_, g, chain, err := b.layPool(p)
	if err != nil {
		return false, err
	}
	cost := g.Blocks * poolCost
	rest := int64(math.MaxInt64)
	if p.longest < pooledBelow && (p.bytes < restBelow || p.t.Size() == 1) {
		if rest, err = b.o.Trial(p.vars, b.o.Rest, bytesGeometry(p.bytes)); rest < cost || err != nil {
			return false, err
		}
	}
	stored, err := b.o.Trial(p.vars, chain, g)
	if rest < stored+cost || err != nil {
		return false, err
	}
	well := int64(wellStored)
	if p.t == cdf3.Char {
		well = wellText
	}
	if len(p.vars) > 1 && stored < p.bytes/well {
		return true, nil
	}
	return b.paysInOne(p, stored+cost)
}

// paysInOne reports whether a pool that takes cost bytes takes no more than its variables in
// blocks of their own.
func (b *planBuilder) paysInOne(p *pool, cost int64) (bool, error) {
	own := make([]*Geometry, len(p.vars))
	for i, n := range p.vars {
		v := &b.h.Vars[n]
		var err error
		if own[i], err = NewGeometry(v.Shape, BlockShape(v.Shape, v.Type.Size(), b.o.Block), v.Type.Size()); err != nil {
			return false, fmt.Errorf("archive: internal error: variable %q: %w", v.Name, err)
		}
		cost -= own[i].Blocks * poolCost
	}
	for i, n := range p.vars {
		if cost <= 0 { // perhaps already because of the places of blocks
			break
		}
		v := &b.h.Vars[n]
		chain, err := b.o.Chain(v.Name, v.Type, own[i])
		if err != nil {
			return false, err
		}
		n, err := b.o.Trial(p.vars[i:i+1], chain, own[i])
		if err != nil {
			return false, err
		}
		cost -= n
	}
	return cost <= 0, nil
}

// bytesGeometry is that of n bytes in one block.
func bytesGeometry(n int64) *Geometry {
	g, err := NewGeometry([]int64{n}, []int64{n}, 1)
	if err != nil {
		panic("archive: internal error: " + err.Error())
	}
	return g
}
