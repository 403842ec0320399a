// Package format defines the metadata of archives: the plan and everything derived from
// it (the place of each block in the image and in the archive, its name, the order of
// blocks), the manifest, the Zarr view, and the limits of all of these. It does not
// read or write blocks. It imports its neighbours czip and fault, and cdf3, unlimited,
// filters and blockidx.
package format

import (
	"bytes"
	"context"
	"encoding/json"
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

// Layout tells which parts of a file have separate entries in the archive.
type Layout string

// The layouts of docs/FORMAT.md, "layout".
const (
	Viewed       Layout = "viewed"       // every blocked variable, and Zarr metadata
	Consolidated Layout = "consolidated" // the same, with consolidated Zarr metadata only
	Pooled       Layout = "pooled"       // no Zarr metadata, small variables in pools
	Single       Layout = "single"       // the image as one block
)

// HasView reports whether archives of the layout are Zarr stores as well.
func (l Layout) HasView() bool { return l == Viewed || l == Consolidated }

// formatVersion is the version of the format that is written, and the only one that is
// read.
const formatVersion = 1

// features lists the features that this program supports beyond version 1.
var features = []string{}

// Plan is `.cdfz/plan.json`, docs/FORMAT.md, "The plan".
type Plan struct {
	Format   int            `json:"format"`
	Features []string       `json:"features"`
	Writer   string         `json:"writer"`
	Layout   Layout         `json:"layout"`
	Image    PlanImage      `json:"image"`
	Block    int64          `json:"block"`
	Chains   [][]PlanFilter `json:"chains"`
	Rest     PlanRest       `json:"rest"`
	Vars     []PlanVar      `json:"vars"`
	Groups   [][]int        `json:"groups"`
	Pools    []PlanPool     `json:"pools,omitempty"`
}

// PlanImage describes the image; lengths in bytes.
type PlanImage struct {
	Size   int64 `json:"size"`
	Header int64 `json:"header"`
}

// PlanFilter is a filter of a chain in both of its forms.
type PlanFilter struct {
	ID       uint32          `json:"id"`
	Params   []uint32        `json:"params,omitempty"`
	Optional bool            `json:"optional,omitempty"`
	Name     string          `json:"name,omitempty"`
	Codec    json.RawMessage `json:"codec,omitempty"`
}

// PlanRest describes how the rest is cut. Lengths are in bytes.
type PlanRest struct {
	Len   int64 `json:"len"`
	First int64 `json:"first"`
	Block int64 `json:"block"`
	Chain int   `json:"chain"`
	Head  *int  `json:"head,omitempty"` // chain of block 0; nil: Chain
}

// PlanVar is a blocked variable.
type PlanVar struct {
	Var     int               `json:"var"`
	Path    string            `json:"path"`
	Type    string            `json:"type"`
	Shape   []int64           `json:"shape"`
	Block   []int64           `json:"block"`
	Chain   int               `json:"chain"`
	Segment unlimited.Segment `json:"segment"`
	View    NotViewed         `json:"view,omitempty"`
}

// PlanPool is variables that share blocks: their bytes one after another, as an array of
// the given type and shape.
type PlanPool struct {
	Vars  []int   `json:"vars"`
	Type  string  `json:"type"`
	Shape []int64 `json:"shape"`
	Block []int64 `json:"block"`
	Chain int     `json:"chain"`
}

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
}

// ParsePlan decodes and checks a plan. All of its numbers are claims.
func ParsePlan(ctx context.Context, b []byte) (*Resolved, error) {
	p, err := ReadPlan(ctx, b)
	if err != nil {
		return nil, err
	}
	return newLayout(ctx, p)
}

// newLayout checks a plan and computes the derived data.
func newLayout(ctx context.Context, p *Plan) (*Resolved, error) {
	l := &Resolved{Plan: p}
	if p.Image.Header < 0 || p.Image.Header > maxHeader || p.Image.Size < p.Image.Header {
		return nil, fault.Corruptf("plan: header of %d bytes in an image of %d", p.Image.Header, p.Image.Size)
	}
	for i, c := range p.Chains {
		if len(c) > filters.MaxFilters {
			return nil, fault.Corruptf("plan: chain %d has %d filters", i, len(c))
		}
		chain := make(filters.Chain, len(c))
		for j, f := range c {
			chain[j] = filters.Filter{ID: f.ID, Params: f.Params, Optional: f.Optional, Name: f.Name}
		}
		l.Filters = append(l.Filters, chain)
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

func (l *Resolved) checkVar(i int) error {
	v := &l.Vars[i]
	if v.Var < 0 || i > 0 && v.Var <= l.Vars[i-1].Var {
		return fault.Corruptf("plan: variable %d out of order", v.Var)
	}
	if !validPath(v.Path) && v.Path != czip.VarPrefix+strconv.Itoa(v.Var) {
		return fault.Corruptf("plan: variable %d has path %q", v.Var, v.Path)
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
		err = fault.Corruptf("no bytes")
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
		return nil, fault.Corruptf("plan: type %q", typ)
	}
	if chain < 0 || chain >= len(l.Filters) {
		return nil, fault.Corruptf("plan: chain %d of %d", chain, len(l.Filters))
	}
	g, err := NewGeometry(shape, block, t.Size())
	if err != nil {
		return nil, err
	}
	g.First, g.RawOff = l.Blocks, l.restOff
	l.Blocks += g.Blocks
	l.restOff += g.RawLen
	if l.restOff < 0 || l.restOff > l.Image.Size || g.Blocks > l.Image.Size || l.Blocks < 0 {
		return nil, fault.Corruptf("plan: array of %d bytes, the image has %d", g.RawLen, l.Image.Size)
	}
	l.Geoms = append(l.Geoms, g)
	return g, nil
}

func (l *Resolved) checkRest() error {
	r := &l.Rest
	rest := l.Image.Size - l.restOff
	if r.Len != rest || r.First < l.Image.Header || r.First > r.Len || r.First > max(l.Image.Header, MaxFirst) ||
		r.Chain < 0 || r.Chain >= len(l.Filters) || l.headChain() < 0 || l.headChain() >= len(l.Filters) || r.Block < 1 || r.Block > maxBlock {
		return fault.Corruptf("plan: rest of %d bytes in blocks of %d and %d, chain %d; expected %d bytes",
			r.Len, r.First, r.Block, r.Chain, rest)
	}
	l.RestFirst = l.Blocks
	l.RestBlocks = 1 + CeilDiv(r.Len-r.First, r.Block)
	l.Blocks += l.RestBlocks
	if _, err := blockidx.Size(l.Blocks); err != nil {
		return fault.Corruptf("plan: %d blocks", l.Blocks)
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

// Locate turns a global block number into a variable and its block. v is -1 for the
// rest.
func (l *Resolved) Locate(block int64) (v int, b int64) {
	if block >= l.RestFirst {
		return -1, block - l.RestFirst
	}
	i, _ := slices.BinarySearchFunc(l.Geoms, block, func(g *Geometry, block int64) int {
		if g.First+g.Blocks <= block {
			return -1
		}
		return 1
	})
	return i, block - l.Geoms[i].First
}

// RestAt returns the place of block b in the rest.
func (l *Resolved) RestAt(b int64) (off, n int64) {
	if b == 0 {
		return 0, l.Rest.First
	}
	off = l.Rest.First + (b-1)*l.Rest.Block
	return off, min(l.Rest.Block, l.Rest.Len-off)
}

// MaxBlockLen is the length of the longest block, decoded.
func (l *Resolved) MaxBlockLen() int64 {
	n := max(l.Rest.First, min(l.Rest.Block, l.Rest.Len), 1)
	for _, g := range l.Geoms {
		n = max(n, g.BlockLen)
	}
	return n
}

// BlockInfo is what encoding or decoding a block needs to know.
func (l *Resolved) BlockInfo(v int, b int64) (chain int, decoded int64) {
	switch {
	case v < 0 && b == 0:
		return l.headChain(), l.Rest.First
	case v < 0:
		_, n := l.RestAt(b)
		return l.Rest.Chain, n
	case v < len(l.Vars):
		return l.Vars[v].Chain, l.Geoms[v].BlockLen
	}
	return l.Pools[v-len(l.Vars)].Chain, l.Geoms[v].BlockLen
}

// headChain is the chain of block 0 of the rest.
func (l *Resolved) headChain() int {
	if l.Rest.Head != nil {
		return *l.Rest.Head
	}
	return l.Rest.Chain
}

// Path is the path of an array.
func (l *Resolved) Path(v int) string {
	if v < len(l.Vars) {
		return l.Vars[v].Path
	}
	return czip.PoolPrefix + strconv.Itoa(v-len(l.Vars))
}

// AppendName appends the entry name of a block.
func (l *Resolved) AppendName(dst []byte, v int, b int64) []byte {
	if v < 0 {
		return fmt.Appendf(dst, "%s%d", czip.RestPrefix, b)
	}
	dst = append(append(dst, l.Path(v)...), '/')
	return l.Geoms[v].AppendKey(dst, b)
}

// Encode encodes the plan as JSON.
func (p *Plan) Encode(ctx context.Context) ([]byte, error) {
	head := *p
	head.Vars, head.Groups, head.Pools = []PlanVar{}, [][]int{}, nil
	const end = `"vars":[],"groups":[]}`
	out, ok := bytes.CutSuffix(EncodeJSON(&head), []byte(end))
	if !ok {
		panic("archive: internal error: a plan does not end with its variables and groups")
	}
	out = append(out, `"vars":[`...)
	var one bytes.Buffer
	e := newEncoder(&one)
	for i := range p.Vars {
		if i%liveEvery == 0 {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
		}
		if i > 0 {
			out = append(out, ',')
		}
		one.Reset()
		encode(e, &p.Vars[i])
		out = append(out, bytes.TrimSuffix(one.Bytes(), []byte("\n"))...)
	}
	out = append(out, `],"groups":`...)
	out = append(out, EncodeJSON(p.Groups)...)
	if len(p.Pools) > 0 {
		out = append(append(out, `,"pools":`...), EncodeJSON(p.Pools)...)
	}
	return append(out, '}'), nil
}

// EncodeJSON encodes JSON without the escapes that only HTML needs.
func EncodeJSON(v any) []byte {
	var b bytes.Buffer
	encode(newEncoder(&b), v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

func newEncoder(b *bytes.Buffer) *json.Encoder {
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	return e
}

func encode(e *json.Encoder, v any) {
	if err := e.Encode(v); err != nil {
		panic("archive: internal error: " + err.Error())
	}
}
