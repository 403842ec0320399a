package plan

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/cdfz-format/cdfz/archive/internal/fault"
	"github.com/cdfz-format/cdfz/cdf3"
)

// planReader reads a plan (docs/FORMAT.md, "The plan") within its limits.
type planReader struct {
	*jsonReader
	p       Plan
	version error // the plan needs a newer reader
	filters int   // number of filters that may follow
	params  int
	ranks   int
	free    []int64                  // memory for shapes
	recent  [recentArrays]*PlanArray // of the variables read last
	oldest  int                      // of recent
	one     PlanVar                  // the variable that is read, of which array and members are parts
	array   PlanArray
	members []member
	paths   []byte // of the variables so far
	ends    []int  // of the paths
}

// ReadPlan decodes a plan without checking its numbers. The plan does not share the memory of b.
func ReadPlan(ctx context.Context, b []byte) (*Plan, error) {
	r := &planReader{jsonReader: newJSONReader(ctx, b), filters: MaxFilters, params: MaxParams, ranks: maxRanks(b)}
	r.setMembers()
	r.plan()
	err := r.end()
	switch {
	case r.version != nil:
		return nil, r.version
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, fault.Corruptf("plan: %v", err)
	}
	p := r.p // not a part of the reader, which may go
	return &p, nil
}

// needNewer ends reading because of something that only a newer reader knows.
func (r *planReader) needNewer(format string, args ...any) {
	r.version = fmt.Errorf("archive: "+format+": %w", append(args, fault.ErrVersion)...)
	r.fail("%v", r.version)
}

func (r *planReader) plan() {
	p := &r.p
	// A newer plan may have other members, so nothing is judged before the first two.
	r.orderedObject(2, 9, []member{
		{"format", func() {
			if p.Format = r.int(); r.err == nil && p.Format != formatVersion {
				r.needNewer("expected format %d, found %d", formatVersion, p.Format)
			}
		}},
		{"features", func() {
			p.Features = list(r.jsonReader, "features", maxFeatures, nil, r.short)
			for _, f := range p.Features {
				if r.err == nil && !slices.Contains(features, f) {
					r.needNewer("feature %q is unknown here", f)
				}
			}
		}},
		{"writer", &p.Writer},
		{"image", func() { r.object(2, []member{{"size", &p.Image.Size}, {"header", &p.Image.Header}}) }},
		{"block", &p.Block},
		{"chains", func() { p.Chains = list(r.jsonReader, "chains", MaxChains, nil, r.chain) }},
		{"rest", func() {
			x := &p.Rest
			r.object(4, []member{{"len", &x.Len}, {"first", &x.First}, {"block", &x.Block}, {"chain", &x.Chain}, {"head", func() {
				head := r.int()
				x.Head = &head
			}}})
		}},
		{"vars", r.vars},
		{"groups", r.groups},
		{"zarr", func() { p.Zarr = r.zarr() }},
		{"pools", r.pools},
	})
}

func (r *planReader) zarr() Layout {
	lay := Layout(r.short())
	if r.err == nil && !lay.HasView() {
		r.fail("unknown Zarr view %q", lay)
	}
	return lay
}

// chain reads the filters of a chain.
func (r *planReader) chain() []PlanFilter {
	c := list(r.jsonReader, "filters in all chains", r.filters, nil, r.filter)
	r.filters -= len(c)
	return c
}

func (r *planReader) filter() (f PlanFilter) {
	r.object(1, []member{
		{"id", &f.ID},
		{"params", func() {
			f.Params = list(r.jsonReader, "parameters of all filters", r.params, nil, r.uint32)
			r.params -= len(f.Params)
		}},
		{"optional", func() { f.Optional = r.bool() }},
		{"name", &f.Name},
		{"codec", func() {
			if r.peek() != '{' {
				r.expected("an object")
			}
			t := r.any()
			if len(t) > maxCodec {
				r.fail("expected a codec of at most %d bytes, found %d", maxCodec, len(t))
			}
			f.Codec = json.RawMessage(slices.Clone(t))
		}},
	})
	return f
}

// left is the length of the text that is not read yet.
func (r *planReader) left() int { return len(r.text) - r.at }

const leastVar = 100 // bytes of text of a variable

// setMembers makes the members of a variable, once for all of them.
func (r *planReader) setMembers() {
	v, s := &r.one, &r.one.Segment
	segment := []member{{"off", &s.Off}, {"len", &s.Len}, {"stride", &s.Stride}, {"count", &s.Count}}
	r.members = []member{
		{"var", &v.Var},
		{"path", func() { r.paths = append(r.paths, r.shortText()...) }},
		{"type", func() { r.array.Type = r.typ() }},
		{"shape", func() { r.array.Shape = r.dims() }},
		{"block", func() { r.array.Block = r.dims() }},
		{"chain", &v.Chain},
		{"segment", func() { r.object(4, segment) }},
		{"view", func() { v.View = r.viewCode() }},
	}
}

// vars reads the variables. Their paths are parts of one string.
func (r *planReader) vars() {
	v := list(r.jsonReader, "variables", maxHeader, make([]PlanVar, 0, r.left()/leastVar), r.variable)
	paths, start := string(r.paths), 0
	for i := range v {
		v[i].Path, start = paths[start:r.ends[i]], r.ends[i]
	}
	r.p.Vars = v
}

func (r *planReader) variable() PlanVar {
	free := r.free
	r.one = PlanVar{}
	r.object(7, r.members)
	r.ends = append(r.ends, len(r.paths))
	// Many variables have the type, shape and block of one of the last.
	for _, a := range r.recent {
		if a != nil && a.Type == r.array.Type && slices.Equal(a.Shape, r.array.Shape) && slices.Equal(a.Block, r.array.Block) {
			r.one.PlanArray, r.free = a, free
			return r.one
		}
	}
	a := r.array
	r.one.PlanArray = &a
	r.recent[r.oldest] = &a
	r.oldest = (r.oldest + 1) % recentArrays
	return r.one
}

// recentArrays is the number of arrays of which a variable may share one.
const recentArrays = 4

// pools reads the pools. They name no more variables than a netCDF header can have.
func (r *planReader) pools() {
	left := maxHeader
	r.p.Pools = list(r.jsonReader, "pools", maxPools, nil, func() (p PlanPool) {
		r.object(5, []member{
			{"vars", func() {
				p.Vars = list(r.jsonReader, "variables in pools", left, nil, r.int)
				left -= len(p.Vars)
			}},
			{"type", func() { p.Type = r.typ() }},
			{"shape", func() { p.Shape = r.dims() }},
			{"block", func() { p.Block = r.dims() }},
			{"chain", &p.Chain},
		})
		return p
	})
}

// typ reads the name of a type.
func (r *planReader) typ() string {
	name := r.string()
	t, ok := cdf3.TypeByName(string(name))
	if r.err == nil && !ok {
		r.fail("unknown type %q", name)
	}
	return t.String()
}

// dims reads a shape. Shapes share pieces of memory.
func (r *planReader) dims() []int64 {
	if cap(r.free) == 0 {
		const most, perDim = 512, 8 // dimensions, bytes of text for each
		r.free = make([]int64, 0, min(most, r.left()/perDim))
	}
	d := list(r.jsonReader, "dimensions", min(MaxRank, r.ranks), r.free, r.int64)
	r.ranks -= len(d)
	r.free = d[len(d):]
	return slices.Clip(d)
}

// viewCode reads the reason why a variable is not in the Zarr view.
func (r *planReader) viewCode() NotViewed {
	code := r.short()
	if _, known := notViewedTexts[NotViewed(code)]; r.err == nil && !known {
		r.fail("unknown reason %q", code)
	}
	return NotViewed(code)
}

// groups reads the stored order. It comes after the variables and names each once.
func (r *planReader) groups() {
	if r.p.Vars == nil {
		r.fail(`"groups" before "vars"`)
	}
	left := len(r.p.Vars)
	free := make([]int, 0, left) // the memory of all groups
	r.p.Groups = list(r.jsonReader, "groups", left, make([][]int, 0, left), func() []int {
		g := list(r.jsonReader, "variables in groups", left, free, r.int)
		if left -= len(g); len(g) == 0 {
			r.fail("empty group")
		}
		free = g[len(g):]
		return slices.Clip(g)
	})
}
