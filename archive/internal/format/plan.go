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
	"errors"
	"fmt"
	"math"
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
	Pooled       Layout = "pooled"       // no Zarr metadata, small variables in the rest
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

// Resolved is a plan with everything that is computed from it.
type Resolved struct {
	*Plan
	Perm       *unlimited.Layout
	Geoms      []*Geometry
	Filters    []filters.Chain
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
	segs := make([]unlimited.Segment, len(p.Vars))
	for i := range p.Vars {
		if i%liveEvery == 0 {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
		}
		g, err := l.checkVar(i)
		if err != nil {
			return nil, err
		}
		segs[i] = p.Vars[i].Segment
		l.Geoms = append(l.Geoms, g)
	}
	var err error
	if l.Perm, err = unlimited.New(p.Image.Size, p.Image.Header, segs); err != nil {
		return nil, fault.Corruptf("plan: %v", err)
	}
	for i, g := range l.Geoms {
		g.RawOff = l.Perm.RawOff(i)
	}
	if err := l.checkRest(); err != nil {
		return nil, err
	}
	return l, l.checkGroups()
}

func (l *Resolved) checkVar(i int) (*Geometry, error) {
	v := &l.Vars[i]
	t, ok := cdf3.TypeByName(v.Type)
	if !ok {
		return nil, fault.Corruptf("plan: variable %d has type %q", v.Var, v.Type)
	}
	if v.Var < 0 || i > 0 && v.Var <= l.Vars[i-1].Var {
		return nil, fault.Corruptf("plan: variable %d out of order", v.Var)
	}
	if !validPath(v.Path) && v.Path != czip.VarPrefix+strconv.Itoa(v.Var) {
		return nil, fault.Corruptf("plan: variable %d has path %q", v.Var, v.Path)
	}
	if v.Chain < 0 || v.Chain >= len(l.Filters) {
		return nil, fault.Corruptf("plan: variable %d has chain %d of %d", v.Var, v.Chain, len(l.Filters))
	}
	g, err := NewGeometry(v.Shape, v.Block, t.Size())
	if err != nil {
		return nil, fmt.Errorf("variable %d: %w", v.Var, err)
	}
	s := v.Segment
	if n, ok := mul(s.Len, s.Count); s.Len < 0 || s.Count < 0 || !ok || n != g.RawLen {
		return nil, fault.Corruptf("plan: variable %d: %d runs of %d bytes for a shape of %d bytes", v.Var, s.Count, s.Len, g.RawLen)
	}
	g.First = l.Blocks
	l.Blocks += g.Blocks
	if g.RawLen > l.Image.Size || g.Blocks > l.Image.Size || l.Blocks < 0 {
		return nil, fault.Corruptf("plan: variable %d has %d bytes, the image %d", v.Var, g.RawLen, l.Image.Size)
	}
	return g, nil
}

func (l *Resolved) checkRest() error {
	r := &l.Rest
	if r.Len != l.Perm.RestLen() || r.First < l.Image.Header || r.First > r.Len || r.First > max(l.Image.Header, MaxFirst) ||
		r.Chain < 0 || r.Chain >= len(l.Filters) || r.Block < 1 || r.Block > maxBlock {
		return fault.Corruptf("plan: rest of %d bytes in blocks of %d and %d, chain %d; expected %d bytes",
			r.Len, r.First, r.Block, r.Chain, l.Perm.RestLen())
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

// MaxBlockLen returns the decoded length of the longest block.
func (l *Resolved) MaxBlockLen() int64 {
	n := max(l.Rest.First, min(l.Rest.Block, l.Rest.Len), 1)
	for _, g := range l.Geoms {
		n = max(n, g.BlockLen)
	}
	return n
}

func (l *Resolved) BlockInfo(v int, b int64) (chain int, decoded int64) {
	if v < 0 {
		_, n := l.RestAt(b)
		return l.Rest.Chain, n
	}
	return l.Vars[v].Chain, l.Geoms[v].BlockLen
}

// AppendName appends the entry name of a block.
func (l *Resolved) AppendName(dst []byte, v int, b int64) []byte {
	if v < 0 {
		return fmt.Appendf(dst, "%s%d", czip.RestPrefix, b)
	}
	dst = append(append(dst, l.Vars[v].Path...), '/')
	return l.Geoms[v].AppendKey(dst, b)
}

// Encode encodes the plan as JSON.
func (p *Plan) Encode(ctx context.Context) ([]byte, error) {
	head := *p
	head.Vars, head.Groups = []PlanVar{}, [][]int{}
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
	return append(append(out, EncodeJSON(p.Groups)...), '}'), nil
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

// ErrMetadata reports a layout with more metadata than a reader may accept, or than a
// view is worth.
var ErrMetadata = errors.New("metadata larger than the format allows")

const (
	pooledBelow   = 4096
	MaxEntryName  = 255
	pooledMaxName = 48
)

// PlanOptions control NewPlan. Lengths are in bytes.
type PlanOptions struct {
	Block  int64         // target size of a block
	Memory int64         // for the blocks of record variables that are collected together
	Rest   filters.Chain // chain of the rest
	Chain  func(name string, t cdf3.Type, g *Geometry) (filters.Chain, error)
	// Headers bounds the local headers and directory records of blocks. A plan with
	// more of them is ErrMetadata.
	Headers int64
}

// NewPlan makes the plan of an image from its header and the options.
func NewPlan(ctx context.Context, h *cdf3.Header, size int64, o *PlanOptions, lay Layout) (*Resolved, error) {
	p := &Plan{
		Format: formatVersion, Features: features, Writer: "cdfz " + Version, Layout: lay,
		Image: PlanImage{size, h.Len}, Block: o.Block, Vars: []PlanVar{}, Groups: [][]int{},
	}
	b := planBuilder{p: p, chains: map[string]int{}, known: map[string]planChain{}}
	rest, _ := b.chain(o.Rest, 0)
	p.Rest = PlanRest{Len: size, First: h.Len, Block: o.Block, Chain: rest}
	if lay == Single {
		if size < SmallImage {
			p.Rest.First = max(h.Len, min(size, MaxFirst))
			if size > MaxFirst {
				p.Rest.Block = MaxFirst
			}
		}
	} else if err := b.addVars(ctx, h, size, o); err != nil {
		return nil, err
	}
	b.group(o.Memory)
	l, err := newLayout(ctx, p)
	if err != nil && ctx.Err() == nil {
		err = fmt.Errorf("archive: internal error: %w", err)
	}
	return l, err
}

type planBuilder struct {
	p      *Plan
	chains map[string]int
	known  map[string]planChain
	geoms  []*Geometry
}

// planChain is a chain of blocks of one length.
type planChain struct {
	number int
	view   NotViewed
}

// chain numbers a chain, and returns why blocks of blockLen bytes are not in the view.
func (b *planBuilder) chain(c filters.Chain, blockLen int64) (int, NotViewed) {
	key := make([]byte, 0, 64)
	for _, f := range c {
		key = fmt.Appendf(key, "%d %t %q %d,", f.ID, f.Optional, f.Name, f.Params)
	}
	key = strconv.AppendInt(key, blockLen, 10)
	if k, ok := b.known[string(key)]; ok {
		return k.number, k.view
	}
	pf, why := PlanFilters(c, blockLen)
	text := string(EncodeJSON(pf))
	n, ok := b.chains[text]
	if !ok {
		n = len(b.p.Chains)
		b.chains[text] = n
		b.p.Chains = append(b.p.Chains, pf)
	}
	b.known[string(key)] = planChain{n, why}
	return n, why
}

func (b *planBuilder) addVars(ctx context.Context, h *cdf3.Header, size int64, o *PlanOptions) error {
	segs, reasons := unlimited.Plan(h, size)
	names := PathNames{Pooled: b.p.Layout == Pooled, Taken: map[string]bool{}}
	headers := o.Headers
	for i := range h.Vars {
		if i%liveEvery == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		v := &h.Vars[i]
		if reasons[i] != unlimited.Blocked || len(v.Shape) > MaxRank || names.Pooled && v.Len < pooledBelow {
			continue
		}
		g, err := NewGeometry(v.Shape, BlockShape(v.Shape, v.Type.Size(), o.Block), v.Type.Size())
		if err != nil {
			return fmt.Errorf("archive: internal error: variable %q: %w", v.Name, err)
		}
		_, longest := g.KeysLen()
		path, ok := names.Of(v.Name, i, longest)
		if !ok {
			continue
		}
		per := czip.LocalFixed + czip.CentralFixed + 2*int64(len(path))
		if g.Blocks > headers/per {
			return fmt.Errorf("archive: %w", ErrMetadata)
		}
		headers -= g.Blocks * per
		chain, err := o.Chain(v.Name, v.Type, g)
		if err != nil {
			return err
		}
		b.p.Rest.Len -= v.Len
		number, unviewed := b.chain(chain, g.BlockLen)
		pv := PlanVar{Var: i, Path: path, Type: v.Type.String(), Shape: nonNil(g.Shape), Block: nonNil(g.Block), Chain: number, Segment: segs[i]}
		if b.p.Layout.HasView() {
			pv.View = ViewAt(path, unviewed)
		}
		b.p.Vars = append(b.p.Vars, pv)
		b.geoms = append(b.geoms, g)
	}
	return nil
}

// nonNil turns a nil list into an empty one, for JSON.
func nonNil(s []int64) []int64 {
	if s == nil {
		return []int64{}
	}
	return s
}

// group decides the stored order. Fixed variables form groups of one. Record variables
// are grouped as long as their blocks fit the memory. Everything is in the order of the
// image.
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
