package plan

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/filters"
	"github.com/cdfz-format/cdfz/unlimited"
)

// PooledBelow is the length of a variable in bytes below which it has blocks only in a pool, unless it is in a view.
// The numbers here are those of docs/FORMAT.md, "Pools".
const PooledBelow = 4096

const (
	poolTarget  = 256 << 10 // bytes of a block of a pool, unless there is another target
	textTargets = 2         // blocks of text are longer
	stackShare  = 4         // variables below this share of the target are stacked
	mixedShare  = 16        // variables below this share are pooled with others of any shape
	poolLeast   = 512       // bytes of a pool
	maxStacks   = 512
	stackRank   = 32 // dimensions of variables that are stacked
)

// Pool is variables that are to share blocks: the pool as a plan has it but for the number of its chain.
type Pool struct {
	PlanPool
	Chain   filters.Chain // as a user would write it
	Kept    *KeptBlocks   // nil: Chain is completed for the blocks
	Values  cdf3.Type
	Bytes   int64
	Longest int64 // bytes of the longest variable

	shape []int64 // of the first variable, and in a stack of each
	stack bool
}

// Pools divides the variables that may share blocks into pools: stacks of equal shapes first, then the remaining
// variables of each type. Variables in no pool are blocked or stay in the rest. blocked tells by number which
// variables can be blocked ([unlimited.Plan]). target is the target size of blocks, in bytes; 0: that of the spec,
// at most 256 KiB. The pools have no chains yet.
func Pools(ctx context.Context, h *cdf3.Header, blocked []unlimited.Reason, s *Spec, target int64) []*Pool {
	target = s.poolTarget(target)
	var vars []int
	for i := range h.Vars {
		if v := &h.Vars[i]; blocked[i] == unlimited.Blocked && v.Len > 0 && !s.ownBlocks(v, i) {
			vars = append(vars, i)
		}
	}
	pools := choosePools(ctx, h, target, vars)
	for _, p := range pools {
		p.lay(target, 0)
	}
	return pools
}

// PoolsOf returns the pools that another plan for the same header has, without variables that have blocks of
// their own. They stay stacks if their rows are the variables. Those without a shape of blocks, or with one that
// cuts rows, are cut for a target as in [Pools].
func PoolsOf(h *cdf3.Header, s *Spec, target int64, given []PlanPool) []*Pool {
	target = s.poolTarget(target)
	var pools []*Pool
	for _, from := range given {
		p := &Pool{}
		for _, n := range from.Vars {
			v := &h.Vars[n]
			if s.ownBlocks(v, n) {
				continue
			}
			if len(p.Vars) == 0 {
				p.Values, p.shape, p.stack = v.Type, v.Shape, v.Type != cdf3.Char
			}
			// Other programs may give a pool any shape.
			p.stack = p.stack && len(from.Shape) > 0 && slices.Equal(v.Shape, from.Shape[1:]) && v.Len <= maxBlock
			p.add(n, v)
		}
		if len(p.Vars) == 0 {
			continue
		}
		first := int64(0)
		// Blocks keep their number of rows, if these are whole and have the same elements again.
		if len(from.Block) > 0 && (p.stack || len(from.Shape) == 1) && slices.Equal(from.Block[1:], from.Shape[1:]) {
			first = from.Block[0]
		}
		p.lay(target, first)
		pools = append(pools, p)
	}
	return pools
}

func (s *Spec) poolTarget(target int64) int64 {
	if target > 0 {
		return target
	}
	return min(s.Block, poolTarget)
}

// choosePools divides variables of a header, none of them empty.
func choosePools(ctx context.Context, h *cdf3.Header, target int64, vars []int) []*Pool {
	byShape, byType := map[string]*Pool{}, map[cdf3.Type]*Pool{}
	var stacks, mixed []*Pool
	var key []byte
	for i, n := range vars {
		if i%liveEvery == 0 && ctx.Err() != nil {
			return nil // the caller looks at the context, too
		}
		v := &h.Vars[n]
		if v.Type == cdf3.Char || v.Len >= max(target/stackShare, PooledBelow) || len(v.Shape) > stackRank {
			continue
		}
		key = binary.AppendUvarint(key[:0], uint64(v.Type))
		for _, d := range v.Shape {
			key = binary.AppendUvarint(key, uint64(d))
		}
		p := byShape[string(key)]
		if p == nil {
			p = &Pool{Values: v.Type, shape: v.Shape, stack: true}
			byShape[string(key)] = p
			stacks = append(stacks, p)
		}
		p.add(n, v)
	}
	stacks = slices.DeleteFunc(stacks, func(p *Pool) bool { return len(p.Vars) < 2 || p.Bytes < target/mixedShare })
	stacks = stacks[:min(len(stacks), maxStacks)]
	stacked := make([]bool, len(h.Vars))
	for _, p := range stacks {
		for _, n := range p.Vars {
			stacked[n] = true
		}
	}
	for _, n := range vars {
		v := &h.Vars[n]
		limit := max(target/mixedShare, PooledBelow)
		if v.Type == cdf3.Char {
			limit = max(textTargets*target, PooledBelow)
		}
		if stacked[n] || v.Len >= limit {
			continue
		}
		p := byType[v.Type]
		if p == nil {
			p = &Pool{Values: v.Type, shape: v.Shape, stack: v.Type != cdf3.Char && len(v.Shape) <= stackRank}
			byType[v.Type] = p
			mixed = append(mixed, p)
		}
		p.stack = p.stack && slices.Equal(v.Shape, p.shape)
		p.add(n, v)
	}
	for _, p := range mixed {
		p.stack = p.stack && len(p.Vars) > 1
	}
	// A variable alone is better off with blocks of its shape.
	mixed = slices.DeleteFunc(mixed, func(p *Pool) bool {
		return p.Bytes < poolLeast || len(p.Vars) == 1 && p.Bytes >= PooledBelow
	})
	return append(stacks, mixed...)
}

func (p *Pool) add(n int, v *cdf3.Var) {
	p.Vars = append(p.Vars, n)
	p.Bytes += v.Len
	p.Longest = max(p.Longest, v.Len)
}

// lay sets the shape of the pool and of its blocks. first is their first dimension, or 0 for blocks of the
// target size.
func (p *Pool) lay(target, first int64) {
	shape := []int64{p.Bytes / p.Values.Size()}
	switch {
	case p.stack:
		shape = append([]int64{int64(len(p.Vars))}, p.shape...)
	case p.Values == cdf3.Char:
		target *= textTargets
	case p.Bytes > target:
		target /= 2 // since a variable may lie in two blocks
	}
	block := slices.Clone(shape)
	row := p.Bytes / shape[0]
	block[0] = min(first, shape[0])
	if first == 0 {
		block[0] = CeilDiv(shape[0], CeilDiv(shape[0], max(1, target/row)))
	}
	p.Type, p.Shape, p.Block = p.Values.String(), shape, block
}

// Geometry returns the geometry of the pool's blocks.
func (p *Pool) Geometry() (*Geometry, error) {
	g, err := NewGeometry(p.Shape, p.Block, p.Values.Size())
	if err != nil {
		return nil, fmt.Errorf("archive: internal error: pool: %w", err)
	}
	g.Stack = p.stack && p.Block[0] > 1
	return g, nil
}

// ChainOf returns the complete chain for the pool's blocks.
func (p *Pool) ChainOf(g *Geometry) (filters.Chain, error) {
	c, err := completeOrKept(p.Chain, p.Kept, p.Values, g)
	if err != nil {
		return nil, fmt.Errorf("archive: variable %q: %w", "*", err)
	}
	return c, nil
}
