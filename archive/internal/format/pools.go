package format

import (
	"context"
	"fmt"
	"slices"

	"github.com/cdfz-format/cdfz/cdf3"
)

// The numbers of docs/FORMAT.md, "Pools".
const (
	pooledBelow = 4096      // bytes of a variable that has blocks only in a pool, unless it is in a view
	poolTarget  = 256 << 10 // bytes of a block of a pool, unless the target is smaller
	textTargets = 2         // blocks of text are longer
	stackShare  = 4         // variables below this share of the target are stacked
	mixedShare  = 16        // variables below this share are pooled with others of any shape
	poolLeast   = 512       // bytes of a pool
	maxStacks   = 512
	stackRank   = 32 // dimensions of variables that are stacked
)

// pool is variables that are to share blocks.
type pool struct {
	t       cdf3.Type
	vars    []int
	bytes   int64
	longest int64   // bytes of the longest variable
	shape   []int64 // of each variable of a stack; nil if shapes differ
	stack   bool
}

// choosePools divides the given variables of a header, none of them empty, into pools:
// stacks of equal shapes first, then the remaining variables of each type. Variables in no
// pool are blocked or stay in the rest. target is the target size of blocks, in bytes.
func choosePools(ctx context.Context, h *cdf3.Header, target int64, vars []int) []*pool {
	target = min(target, poolTarget)
	byShape, byType := map[string]*pool{}, map[cdf3.Type]*pool{}
	var stacks, mixed []*pool
	for i, n := range vars {
		if i%liveEvery == 0 && ctx.Err() != nil {
			return nil // the caller looks at the context, too
		}
		v := &h.Vars[n]
		if v.Type == cdf3.Char || v.Len >= max(target/stackShare, pooledBelow) || len(v.Shape) > stackRank {
			continue
		}
		key := fmt.Sprint(v.Type, v.Shape)
		if byShape[key] == nil {
			byShape[key] = &pool{t: v.Type, shape: v.Shape, stack: true}
			stacks = append(stacks, byShape[key])
		}
		byShape[key].add(n, v)
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
		if byType[v.Type] == nil {
			byType[v.Type] = &pool{t: v.Type}
			mixed = append(mixed, byType[v.Type])
		}
		byType[v.Type].add(n, v)
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
	target = min(target, poolTarget)
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
	blocks := CeilDiv(shape[0], max(1, target/row))
	block[0] = CeilDiv(shape[0], blocks)
	return PlanPool{Vars: p.vars, Type: p.t.String(), Shape: shape, Block: block}
}
