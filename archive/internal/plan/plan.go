// Package plan holds what is decided about an archive and stored in it: the plan, the manifest, and
// everything that follows from them, such as the place of each block in the image and in the
// archive, its name and the order of blocks. It knows the limits of all of these. It does not
// read or write blocks.
package plan

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/cdfz-format/cdfz/unlimited"
)

// Layout names the parts of a file that have separate entries in the archive. The plan
// says which of the layouts with a view it has; Plan.Layout derives the other two.
type Layout string

// The layouts.
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
	Zarr     Layout         `json:"zarr,omitempty"` // Viewed or Consolidated
	Image    PlanImage      `json:"image"`
	Block    int64          `json:"block"`
	Chains   [][]PlanFilter `json:"chains"`
	Rest     PlanRest       `json:"rest"`
	Vars     []PlanVar      `json:"vars"`
	Groups   [][]int        `json:"groups"`
	Pools    []PlanPool     `json:"pools,omitempty"`
}

// Layout returns the layout of the archive.
func (p *Plan) Layout() Layout {
	switch {
	case p.Zarr != "":
		return p.Zarr
	case len(p.Vars)+len(p.Pools) == 0 && p.Rest.First > p.Image.Header:
		return Single
	}
	return Pooled
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
	Var  int    `json:"var"`
	Path string `json:"path"`
	*PlanArray
	Chain   int               `json:"chain"`
	Segment unlimited.Segment `json:"segment"`
	View    NotViewed         `json:"view,omitempty"`
}

// PlanArray is what many variables of a plan have in common. They share the memory, so it must not
// change.
type PlanArray struct {
	Type  string  `json:"type"`
	Shape []int64 `json:"shape"`
	Block []int64 `json:"block"`
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

// Encode encodes the plan as JSON. ErrMetadata means that its variables and pools have more dimensions than the
// format allows for this text.
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
	out = append(out, '}')
	ranks := 0
	for i := range p.Vars {
		ranks += len(p.Vars[i].Shape) + len(p.Vars[i].Block)
	}
	for i := range p.Pools {
		ranks += len(p.Pools[i].Shape) + len(p.Pools[i].Block)
	}
	if most := maxRanks(out); ranks > most {
		return nil, fmt.Errorf("archive: expected at most %d dimensions of variables and blocks, found %d: %w", most, ranks, ErrMetadata)
	}
	return out, nil
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
