package layout

import (
	"fmt"
	"math"

	"github.com/cdfz-format/cdfz/archive/internal/plan"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/filters"
)

// The numbers of docs/FORMAT.md, "Pools".
const (
	poolCost   = 180   // bytes that another block and its place in the plan take
	restBelow  = 16384 // bytes of a pool of numbers below which the rest is tried, too
	wellStored = 2     // the part of its bytes below which a pool is kept without looking further,
	wellText   = 32    // and that part for text
)

// lengths tells the length of the stored bytes of variables, one after another in blocks of a geometry.
type lengths interface {
	ofVars(vars []int, c filters.Chain, g *plan.Geometry) (int64, error)
}

// poolsThatPay drops the pools whose variables take fewer bytes as blocked variables or in
// the rest.
func poolsThatPay(h *cdf3.Header, s *plan.Spec, pools []*plan.Pool, m lengths) ([]*plan.Pool, error) {
	var keep []*plan.Pool
	for _, p := range pools {
		pays, err := paysPool(h, s, p, m)
		if err != nil {
			return nil, err
		}
		if pays {
			keep = append(keep, p)
		}
	}
	return keep, nil
}

// paysPool reports whether a pool takes no more bytes than its variables would elsewhere. It
// tries what takes the least time first.
func paysPool(h *cdf3.Header, s *plan.Spec, p *plan.Pool, m lengths) (bool, error) {
	g, err := p.Geometry()
	if err != nil {
		return false, err
	}
	chain, err := p.ChainOf(g)
	if err != nil {
		return false, err
	}
	cost := g.Blocks * poolCost
	rest := int64(math.MaxInt64)
	if p.Longest < plan.PooledBelow && (p.Bytes < restBelow || p.Values.Size() == 1) {
		if rest, err = m.ofVars(p.Vars, s.Rest, bytesGeometry(p.Bytes)); rest < cost || err != nil {
			return false, err
		}
	}
	stored, err := m.ofVars(p.Vars, chain, g)
	if rest < stored+cost || err != nil {
		return false, err
	}
	well := int64(wellStored)
	if p.Values == cdf3.Char {
		well = wellText
	}
	if len(p.Vars) > 1 && stored < p.Bytes/well {
		return true, nil
	}
	return paysInOne(h, s, p, m, stored+cost)
}

// paysInOne reports whether a pool that takes cost bytes takes no more than its variables in
// blocks of their own.
func paysInOne(h *cdf3.Header, s *plan.Spec, p *plan.Pool, m lengths, cost int64) (bool, error) {
	own := make([]*plan.Geometry, len(p.Vars))
	for i, n := range p.Vars {
		v := &h.Vars[n]
		var err error
		if own[i], err = plan.NewGeometry(v.Shape, plan.BlockShape(v.Shape, v.Type.Size(), s.Block), v.Type.Size()); err != nil {
			return false, fmt.Errorf("archive: internal error: variable %q: %w", v.Name, err)
		}
		cost -= own[i].Blocks * poolCost
	}
	for i, n := range p.Vars {
		if cost <= 0 { // perhaps already because of the places of blocks
			break
		}
		chain, err := s.ChainOf(&h.Vars[n], n, own[i])
		if err != nil {
			return false, err
		}
		stored, err := m.ofVars(p.Vars[i:i+1], chain, own[i])
		if err != nil {
			return false, err
		}
		cost -= stored
	}
	return cost <= 0, nil
}

// bytesGeometry is that of n bytes in one block.
func bytesGeometry(n int64) *plan.Geometry {
	g, err := plan.NewGeometry([]int64{n}, []int64{n}, 1)
	if err != nil {
		panic("archive: internal error: " + err.Error())
	}
	return g
}
