package archive

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/cdfz-format/cdfz/blockidx"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/filters"
	"github.com/cdfz-format/cdfz/unlimited"
)

// Layout names what an archive keeps of a file in entries of its own.
type Layout string

// The layouts of docs/FORMAT.md, section 15.
const (
	Viewed Layout = "viewed" // every blocked variable, and Zarr metadata
	Pooled Layout = "pooled" // no Zarr metadata, small variables in the rest
	Single Layout = "single" // the image as one block
)

// formatVersion is the number of the format that is written, and the only one read.
const formatVersion = 1

// features are those of the format that this program knows beyond version 1.
var features = []string{}

// Plan is `.cdfz/plan.json`, docs/FORMAT.md, section 7.
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
}

// PlanImage describes the image; lengths in bytes.
type PlanImage struct {
	Size   int64 `json:"size"`
	Header int64 `json:"header"`
}

// PlanFilter is one filter of a chain in both of its forms.
type PlanFilter struct {
	ID       uint32          `json:"id"`
	Params   []uint32        `json:"params,omitempty"`
	Optional bool            `json:"optional,omitempty"`
	Name     string          `json:"name,omitempty"`
	Codec    json.RawMessage `json:"codec,omitempty"`
}

// PlanRest says how the rest is cut; lengths in bytes.
type PlanRest struct {
	Len   int64 `json:"len"`
	First int64 `json:"first"`
	Block int64 `json:"block"`
	Chain int   `json:"chain"`
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
	View    notViewed         `json:"view,omitempty"`
}

// layout is a plan with everything that is computed from it.
type layout struct {
	*Plan
	perm       *unlimited.Layout
	geoms      []*geometry
	filters    []filters.Chain
	restFirst  int64 // global number of the rest's block 0
	restBlocks int64
	blocks     int64 // all of them
}

// parsePlan decodes and checks a plan, whose every number is a claim.
func parsePlan(b []byte) (*layout, error) {
	p, err := readPlan(b)
	if err != nil {
		return nil, err
	}
	return newLayout(p)
}

// newLayout checks a plan and computes what follows from it.
func newLayout(p *Plan) (*layout, error) {
	l := &layout{Plan: p}
	if p.Image.Header < 0 || p.Image.Header > maxHeader || p.Image.Size < p.Image.Header {
		return nil, corruptf("plan: header of %d bytes in an image of %d", p.Image.Header, p.Image.Size)
	}
	for i, c := range p.Chains {
		if len(c) > filters.MaxFilters {
			return nil, corruptf("plan: chain %d has %d filters", i, len(c))
		}
		chain := make(filters.Chain, len(c))
		for j, f := range c {
			chain[j] = filters.Filter{ID: f.ID, Params: f.Params, Optional: f.Optional, Name: f.Name}
		}
		l.filters = append(l.filters, chain)
	}
	segs := make([]unlimited.Segment, len(p.Vars))
	for i := range p.Vars {
		g, err := l.checkVar(i)
		if err != nil {
			return nil, err
		}
		segs[i] = p.Vars[i].Segment
		l.geoms = append(l.geoms, g)
	}
	var err error
	if l.perm, err = unlimited.New(p.Image.Size, p.Image.Header, segs); err != nil {
		return nil, corruptf("plan: %v", err)
	}
	for i, g := range l.geoms {
		g.rawOff = l.perm.RawOff(i)
	}
	if err := l.checkRest(); err != nil {
		return nil, err
	}
	return l, l.checkGroups()
}

func (l *layout) checkVar(i int) (*geometry, error) {
	v := &l.Vars[i]
	t, ok := cdf3.TypeByName(v.Type)
	if !ok {
		return nil, corruptf("plan: variable %d has type %q", v.Var, v.Type)
	}
	if v.Var < 0 || i > 0 && v.Var <= l.Vars[i-1].Var {
		return nil, corruptf("plan: variable %d out of order", v.Var)
	}
	if !validPath(v.Path) && v.Path != varPrefix+strconv.Itoa(v.Var) {
		return nil, corruptf("plan: variable %d has path %q", v.Var, v.Path)
	}
	if v.Chain < 0 || v.Chain >= len(l.filters) {
		return nil, corruptf("plan: variable %d has chain %d of %d", v.Var, v.Chain, len(l.filters))
	}
	g, err := newGeometry(v.Shape, v.Block, t.Size())
	if err != nil {
		return nil, fmt.Errorf("variable %d: %w", v.Var, err)
	}
	s := v.Segment
	if n, ok := mul(s.Len, s.Count); s.Len < 0 || s.Count < 0 || !ok || n != g.rawLen {
		return nil, corruptf("plan: variable %d: %d runs of %d bytes for a shape of %d bytes", v.Var, s.Count, s.Len, g.rawLen)
	}
	g.first = l.blocks
	l.blocks += g.blocks
	if g.rawLen > l.Image.Size || g.blocks > l.Image.Size || l.blocks < 0 {
		return nil, corruptf("plan: variable %d has %d bytes, the image %d", v.Var, g.rawLen, l.Image.Size)
	}
	return g, nil
}

func (l *layout) checkRest() error {
	r := &l.Rest
	if r.Len != l.perm.RestLen() || r.First < l.Image.Header || r.First > r.Len || r.First > max(l.Image.Header, maxFirst) ||
		r.Chain < 0 || r.Chain >= len(l.filters) || r.Block < 1 || r.Block > maxBlock {
		return corruptf("plan: rest of %d bytes in blocks of %d and %d, chain %d; expected %d bytes",
			r.Len, r.First, r.Block, r.Chain, l.perm.RestLen())
	}
	l.restFirst = l.blocks
	l.restBlocks = 1 + ceilDiv(r.Len-r.First, r.Block)
	l.blocks += l.restBlocks
	if _, err := blockidx.Size(l.blocks); err != nil {
		return corruptf("plan: %d blocks", l.blocks)
	}
	return nil
}

func (l *layout) checkGroups() error {
	seen := make([]bool, len(l.Vars))
	n := 0
	for _, g := range l.Groups {
		for _, i := range g {
			if i < 0 || i >= len(seen) || seen[i] {
				return corruptf("plan: group names variable %d of %d wrongly or twice", i, len(seen))
			}
			seen[i] = true
			n++
		}
	}
	if n != len(seen) {
		return corruptf("plan: groups name %d of %d variables", n, len(seen))
	}
	return nil
}

// locate turns a global block number into a variable and its block; v is -1 for
// the rest.
func (l *layout) locate(block int64) (v int, b int64) {
	if block >= l.restFirst {
		return -1, block - l.restFirst
	}
	i, _ := slices.BinarySearchFunc(l.geoms, block, func(g *geometry, block int64) int {
		if g.first+g.blocks <= block {
			return -1
		}
		return 1
	})
	return i, block - l.geoms[i].first
}

// restAt is the place of block b in the rest.
func (l *layout) restAt(b int64) (off, n int64) {
	if b == 0 {
		return 0, l.Rest.First
	}
	off = l.Rest.First + (b-1)*l.Rest.Block
	return off, min(l.Rest.Block, l.Rest.Len-off)
}

// blockInfo is what encoding or decoding a block needs to know.
func (l *layout) blockInfo(v int, b int64) (chain int, decoded int64) {
	if v < 0 {
		_, n := l.restAt(b)
		return l.Rest.Chain, n
	}
	return l.Vars[v].Chain, l.geoms[v].blockLen
}

// appendName appends the entry name of a block.
func (l *layout) appendName(dst []byte, v int, b int64) []byte {
	if v < 0 {
		return fmt.Appendf(dst, "%s%d", restPrefix, b)
	}
	dst = append(append(dst, l.Vars[v].Path...), '/')
	return l.geoms[v].appendKey(dst, b)
}

// encode is the plan as JSON.
func (p *Plan) encode() []byte { return encodeJSON(p) }

// encodeJSON is JSON without escapes that only HTML needs.
func encodeJSON(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic("archive: internal error: " + err.Error())
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// unblocked says why a variable has no blocks of its own, by its number.
type unblocked map[int]string

// errMetadata: a layout with more metadata than a reader may accept.
var errMetadata = errors.New("metadata larger than the format allows")

const (
	pooledBelow   = 4096
	maxEntryName  = 255
	pooledMaxName = 48
)

// planOptions decide what a plan leaves open; lengths in bytes.
type planOptions struct {
	block  int64         // target size of a block
	memory int64         // for the blocks of record variables that are collected together
	rest   filters.Chain // of the rest
	chain  func(name string, t cdf3.Type, g *geometry) (filters.Chain, error)
}

// newPlan makes the plan of an image from its header and the options.
func newPlan(h *cdf3.Header, size int64, o *planOptions, lay Layout) (*layout, unblocked, error) {
	p := &Plan{
		Format: formatVersion, Features: features, Writer: "cdfz " + Version, Layout: lay,
		Image: PlanImage{size, h.Len}, Block: o.block, Vars: []PlanVar{}, Groups: [][]int{},
	}
	b := planBuilder{p: p, chains: map[string]int{}}
	rest, _ := b.chain(o.rest, 0)
	p.Rest = PlanRest{Len: size, First: h.Len, Block: o.block, Chain: rest}
	why := unblocked{}
	if lay == Single {
		if size < smallImage {
			p.Rest.First = max(h.Len, min(size, maxFirst))
			if size > maxFirst {
				p.Rest.Block = maxFirst
			}
		}
		for i := range h.Vars {
			why[i] = "the archive holds the image as one block"
		}
	} else if err := b.addVars(h, size, o, why); err != nil {
		return nil, nil, err
	}
	b.group(o.memory)
	l, err := newLayout(p)
	if err != nil {
		return nil, nil, fmt.Errorf("archive: internal error: %w", err)
	}
	return l, why, nil
}

type planBuilder struct {
	p      *Plan
	chains map[string]int
	geoms  []*geometry
}

// chain numbers a chain, and returns why blocks of blockLen bytes are not in the view.
func (b *planBuilder) chain(c filters.Chain, blockLen int64) (int, notViewed) {
	pf, why := planFilters(c, blockLen)
	key := string(encodeJSON(pf))
	n, ok := b.chains[key]
	if !ok {
		n = len(b.p.Chains)
		b.chains[key] = n
		b.p.Chains = append(b.p.Chains, pf)
	}
	return n, why
}

func (b *planBuilder) addVars(h *cdf3.Header, size int64, o *planOptions, why unblocked) error {
	segs, reasons := unlimited.Plan(h, size)
	names := pathNames{pooled: b.p.Layout == Pooled, taken: map[string]bool{}}
	for i := range h.Vars {
		v := &h.Vars[i]
		if reasons[i] != unlimited.Blocked {
			why[i] = string(reasons[i])
			continue
		}
		if len(v.Shape) > maxRank {
			why[i] = "more than 1024 dimensions"
			continue
		}
		if names.pooled && v.Len < pooledBelow {
			why[i] = "smaller than 4 KiB in a pooled archive"
			continue
		}
		g, err := newGeometry(v.Shape, blockShape(v.Shape, v.Type.Size(), o.block), v.Type.Size())
		if err != nil {
			return fmt.Errorf("archive: internal error: variable %q: %w", v.Name, err)
		}
		_, longest := g.keysLen()
		path, ok := names.of(v.Name, i, longest)
		if !ok {
			why[i] = "its blocks would have names of more than 255 bytes"
			continue
		}
		chain, err := o.chain(v.Name, v.Type, g)
		if err != nil {
			return err
		}
		b.p.Rest.Len -= v.Len
		number, unviewed := b.chain(chain, g.blockLen)
		pv := PlanVar{Var: i, Path: path, Type: v.Type.String(), Shape: nonNil(g.shape), Block: nonNil(g.block), Chain: number, Segment: segs[i]}
		if b.p.Layout == Viewed {
			pv.View = unviewed
		}
		b.p.Vars = append(b.p.Vars, pv)
		b.geoms = append(b.geoms, g)
	}
	return nil
}

// nonNil makes an empty list of a nil one, for JSON.
func nonNil(s []int64) []int64 {
	if s == nil {
		return []int64{}
	}
	return s
}

// group decides the stored order: fixed variables by themselves, record
// variables together as far as their blocks fit the memory, everything in the
// order of the image.
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
		need := b.geoms[i].blockLen
		if len(open) > 0 && used > math.MaxInt64-need || used+need > memory {
			flush()
		}
		open = append(open, i)
		used += need
	}
	flush()
}
