package plan

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
	"unsafe"

	"github.com/cdfz-format/cdfz/archive/internal/fault"
	"github.com/cdfz-format/cdfz/cdf3"
)

// planReader parses a plan (docs/FORMAT.md, "The plan") within its limits.
type planReader struct {
	*jsonReader
	p       Plan
	version error // the plan needs a newer reader
	filters int   // number of filters that may follow
	params  int
	ranks   int
	room    []int64     // empty, for the next shapes
	ints    []int       // empty, for the next groups
	texts   []byte      // paths
	arrays  []PlanArray // for the next variables
	like    [likeArrays]writtenArray
	oldest  int // of like
}

// ReadPlan decodes a plan without checking its numbers. The plan does not share the memory of b.
func ReadPlan(ctx context.Context, b []byte) (*Plan, error) {
	r := &planReader{
		// Nothing keeps this text: strings are copied.
		jsonReader: newJSONReader(unsafe.String(unsafe.SliceData(b), len(b))), filters: MaxFilters, params: MaxParams,
		ranks: ranksBase + len(b)/ranksShare,
	}
	r.ctx = ctx
	r.plan()
	err := r.end()
	if r.version != nil {
		return nil, r.version
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, fault.Corruptf("plan: %v", err)
	}
	return &r.p, nil
}

// needNewer ends parsing because of something that only a newer reader knows.
func (r *planReader) needNewer(format string, args ...any) {
	r.version = fmt.Errorf("archive: "+format+": %w", append(args, fault.ErrVersion)...)
	r.fail("%v", r.version)
}

var planMembers = members{[]string{"format", "features", "writer", "layout", "image", "block", "chains", "rest", "vars", "groups", "pools"}, 10}

func (r *planReader) plan() {
	p, done := &r.p, 0
	r.object(planMembers, func(i int) {
		// A newer plan may have other members, so nothing is judged before these two.
		if done++; done <= 2 && i != done-1 {
			r.fail("expected member %q first, found %q", planMembers.names[done-1], planMembers.names[i])
		}
		switch i {
		case 0:
			if p.Format = r.int(); r.err == nil && p.Format != formatVersion {
				r.needNewer("expected format %d, found %d", formatVersion, p.Format)
			}
		case 1:
			p.Features = list(r.jsonReader, "features", maxFeatures, func(*jsonReader) string { return strings.Clone(r.short()) })
			for _, f := range p.Features {
				if r.err == nil && !slices.Contains(features, f) {
					r.needNewer("feature %q is unknown here", f)
				}
			}
		case 2:
			p.Writer = strings.Clone(r.short())
		case 3:
			p.Layout = r.layout()
		case 4:
			r.object(imageMembers, func(i int) { *[...]*int64{&p.Image.Size, &p.Image.Header}[i] = r.int64() })
		case 5:
			p.Block = r.int64()
		case 6:
			p.Chains = list(r.jsonReader, "chains", MaxChains, func(*jsonReader) []PlanFilter { return r.chain() })
		case 7:
			p.Rest = r.rest()
		case 8:
			p.Vars = roomyList(r.jsonReader, "variables", maxHeader, r.varsRoom(), func(*jsonReader) PlanVar { return r.variable() })
		case 9:
			r.groups()
		case 10:
			r.pools()
		}
	})
}

var imageMembers = members{[]string{"size", "header"}, 2}

func (r *planReader) layout() Layout {
	lay := Layout(r.short())
	for _, known := range [...]Layout{Viewed, Consolidated, Pooled, Single} {
		if lay == known {
			return known
		}
	}
	r.fail("unknown layout %q", lay)
	return ""
}

// chain reads the filters of a chain.
func (r *planReader) chain() []PlanFilter {
	c := list(r.jsonReader, "filters in all chains", r.filters, func(*jsonReader) PlanFilter { return r.filter() })
	r.filters -= len(c)
	return c
}

var filterMembers = members{[]string{"id", "params", "optional", "name", "codec"}, 1}

func (r *planReader) filter() (f PlanFilter) {
	r.object(filterMembers, func(i int) {
		switch i {
		case 0:
			f.ID = r.uint32()
		case 1:
			f.Params = list(r.jsonReader, "parameters of all filters", r.params, (*jsonReader).uint32)
			r.params -= len(f.Params)
		case 2:
			f.Optional = r.bool()
		case 3:
			f.Name = strings.Clone(r.short())
		case 4:
			t := r.raw()
			if len(t) > maxCodec {
				r.fail("expected a codec of at most %d bytes, found %d", maxCodec, len(t))
			}
			f.Codec = json.RawMessage(t)
		}
	})
	return f
}

var restMembers = members{[]string{"len", "first", "block", "chain", "head"}, 4}

func (r *planReader) rest() (x PlanRest) {
	r.object(restMembers, func(i int) {
		switch i {
		case 3:
			x.Chain = r.int()
		case 4:
			head := r.int()
			x.Head = &head
		default:
			*[...]*int64{&x.Len, &x.First, &x.Block}[i] = r.int64()
		}
	})
	return x
}

// varsRoom estimates the number of variables. Each takes at least 100 bytes of text.
func (r *planReader) varsRoom() int {
	return min(strings.Count(r.s[r.at:], `{"var":`), (len(r.s)-r.at)/100)
}

var varMembers = members{[]string{"var", "path", "type", "shape", "block", "chain", "segment", "view"}, 7}

func (r *planReader) variable() (v PlanVar) {
	if r.written(&v) {
		return v
	}
	v = PlanVar{PlanArray: r.newArray()}
	r.object(varMembers, func(i int) {
		switch i {
		case 0:
			v.Var = r.int()
		case 1:
			v.Path = r.keep(r.short())
		case 2:
			v.Type = r.typ()
		case 3:
			v.Shape = r.dims()
		case 4:
			v.Block = r.dims()
		case 5:
			v.Chain = r.int()
		case 6:
			s := &v.Segment
			r.object(segmentMembers, func(i int) { *[...]*int64{&s.Off, &s.Len, &s.Stride, &s.Count}[i] = r.int64() })
		case 7:
			v.View = r.viewCode()
		}
	})
	return v
}

var segmentMembers = members{[]string{"off", "len", "stride", "count"}, 4}

// written reads a variable as writers write it: its members in order, without white space and
// escapes. Plans of thousands of variables consist of little else. For all other text it
// consumes nothing and returns false; the general reader accepts it or knows the error.
func (r *planReader) written(v *PlanVar) bool {
	c := writtenText{s: r.s, at: r.at, ok: r.err == nil}
	v.Var = int(c.number(`{"var":`, math.MaxInt32))
	path := c.text(`,"path":"`)
	r.array(&c, v)
	v.Chain = int(c.number(`,"chain":`, math.MaxInt32))
	v.Segment.Off = c.number(`,"segment":{"off":`, math.MaxInt64)
	v.Segment.Len = c.number(`,"len":`, math.MaxInt64)
	v.Segment.Stride = c.number(`,"stride":`, math.MaxInt64)
	v.Segment.Count = c.number(`,"count":`, math.MaxInt64)
	if c.ok && !c.skip(`}}`) {
		code, known := viewCodes[c.text(`},"view":"`)]
		v.View = code
		c.ok = c.skip(`}`) && known
	}
	ranks := len(v.Shape) + len(v.Block)
	if !c.ok || ranks > r.ranks {
		return false
	}
	v.Path = r.keep(path)
	r.at, r.ranks = c.at, r.ranks-ranks
	return true
}

// writtenArray is the text of type, shape and block of a variable, and what it says. The many
// variables of a plan have few of these texts.
type writtenArray struct {
	text  string
	array *PlanArray
}

const likeArrays = 4

// array reads type, shape and block. Variables with the same text share the memory.
func (r *planReader) array(c *writtenText, v *PlanVar) {
	for i := range r.like {
		if l := &r.like[i]; l.array != nil && strings.HasPrefix(c.s[c.at:], l.text) {
			v.PlanArray = l.array
			c.at += len(l.text)
			return
		}
	}
	start, a := c.at, r.newArray()
	v.PlanArray = a
	t, known := cdf3.TypeByName(c.text(`,"type":"`))
	if !known {
		c.ok = false
		return
	}
	a.Type = t.String()
	if cap(r.room) < 2*writtenRank {
		r.room = make([]int64, 0, r.atMost(shapesRoom, 2*writtenRank))
	}
	a.Shape, r.room = c.dims(`,"shape":[`, r.room)
	a.Block, r.room = c.dims(`,"block":[`, r.room)
	if c.ok {
		r.like[r.oldest] = writtenArray{c.s[start:c.at], a}
		r.oldest = (r.oldest + 1) % likeArrays
	}
}

// newArray returns memory for type, shape and block of a variable.
func (r *planReader) newArray() *PlanArray {
	if len(r.arrays) == 0 {
		r.arrays = make([]PlanArray, arraysRoom)
	}
	a := &r.arrays[0]
	r.arrays = r.arrays[1:]
	return a
}

// arraysRoom is the number of arrays that are allocated at once.
const arraysRoom = 16

// keep copies a text. Paths share pieces of memory.
func (r *planReader) keep(t string) string {
	if len(t) > cap(r.texts)-len(r.texts) {
		r.texts = make([]byte, 0, r.atMost(textsRoom, len(t)))
	}
	n := len(r.texts)
	r.texts = append(r.texts, t...)
	return unsafe.String(unsafe.SliceData(r.texts[n:]), len(t))
}

// atMost returns the given room, or less where little text follows, but at least need.
func (r *planReader) atMost(room, need int) int {
	return max(need, min(room, (len(r.s)-r.at)/textPerRoom))
}

// textPerRoom is the length of text from which a dimension or a byte of a path is expected.
const textPerRoom = 8

// textsRoom is the room for paths that is allocated at once, in bytes.
const textsRoom = 4 << 10

// writtenRank is the most dimensions of a variable that written reads.
const writtenRank = 16

// writtenText reads text of one form. The first difference clears ok, and what is read then has no
// meaning.
type writtenText struct {
	s  string
	at int // of the next byte
	ok bool
}

// skip consumes a text if it comes next.
func (c *writtenText) skip(t string) bool {
	if !strings.HasPrefix(c.s[c.at:], t) {
		return false
	}
	c.at += len(t)
	return true
}

// number reads an integer of at most safeDigits digits after the text before. Whatever comes
// next must not continue a number, which callers find out.
func (c *writtenText) number(before string, most int64) int64 {
	if !c.ok || !c.skip(before) {
		c.ok = false
		return 0
	}
	s, x, n := c.s[c.at:], int64(0), 0
	for ; n < len(s) && n < safeDigits && s[n]-'0' <= 9; n++ {
		x = 10*x + int64(s[n]-'0')
	}
	c.at += n
	c.ok = n > 0 && (n == 1 || s[0] != '0') && x <= most
	return x
}

// text reads ASCII without escapes between the text before and a quotation mark.
func (c *writtenText) text(before string) string {
	if !c.ok || !c.skip(before) {
		c.ok = false
		return ""
	}
	s := c.s[c.at:]
	for n := 0; n < len(s) && n <= maxText && s[n] >= ' ' && s[n] < utf8.RuneSelf && s[n] != '\\'; n++ {
		if s[n] == '"' {
			c.at += n + 1
			return s[:n]
		}
	}
	c.ok = false
	return ""
}

// dims reads at most writtenRank numbers after the text before, into room. It returns what
// remains of room.
func (c *writtenText) dims(before string, room []int64) (d, left []int64) {
	if !c.ok || !c.skip(before) {
		c.ok = false
		return nil, room
	}
	n := 0
	for before = ""; c.ok && !c.skip("]"); before = "," {
		if n == writtenRank {
			c.ok = false
			break
		}
		room = append(room, c.number(before, math.MaxInt64))
		n++
	}
	return room[:n:n], room[n:n]
}

// fewPools is the number of pools that most plans have at most.
const fewPools = 16

// pools parses the pools. They name no more variables than a netCDF header can have.
func (r *planReader) pools() {
	left := maxHeader
	// Their room is not guessed: most commas are those between variables of a pool.
	r.p.Pools = roomyList(r.jsonReader, "pools", maxPools, r.atMost(fewPools, 1), func(*jsonReader) (p PlanPool) {
		r.object(poolMembers, func(i int) {
			switch i {
			case 0:
				p.Vars = list(r.jsonReader, "variables in pools", left, (*jsonReader).int)
				left -= len(p.Vars)
			case 1:
				p.Type = r.typ()
			case 2:
				p.Shape = r.dims()
			case 3:
				p.Block = r.dims()
			case 4:
				p.Chain = r.int()
			}
		})
		return p
	})
}

var poolMembers = members{[]string{"vars", "type", "shape", "block", "chain"}, 5}

// typ parses the name of a type. The result does not share the memory of the text.
func (r *planReader) typ() string {
	name := r.short()
	t, ok := cdf3.TypeByName(name)
	if !ok {
		r.fail("unknown type %q", name)
		return ""
	}
	return t.String()
}

// shapesRoom is the room for dimensions that is allocated at once. A plan may have thousands of
// shapes.
const shapesRoom = 512

// dims parses a shape.
func (r *planReader) dims() []int64 {
	limit := min(MaxRank, r.ranks)
	if n := min(limit, r.elements()); n > cap(r.room) {
		r.room = make([]int64, 0, r.atMost(shapesRoom, n))
	}
	d := listInto(r.jsonReader, r.room, "dimensions", limit, (*jsonReader).int64)
	n := len(d)
	if n <= cap(r.room) {
		r.room = r.room[n:n]
	}
	r.ranks -= n
	return d[:n:n]
}

// viewCode parses the reason why a variable is not in the Zarr view.
func (r *planReader) viewCode() NotViewed {
	text := r.short()
	code, known := viewCodes[text]
	if !known {
		r.fail("unknown reason %q", text)
	}
	return code
}

// groups parses the stored order. It comes after the variables and names each once.
func (r *planReader) groups() {
	if r.p.Vars == nil {
		r.fail(`"groups" before "vars"`)
	}
	left := len(r.p.Vars)
	// Most variables are a group of their own.
	r.p.Groups = roomyList(r.jsonReader, "groups", left, left, func(*jsonReader) []int {
		if cap(r.ints) == 0 {
			r.ints = make([]int, 0, min(left, shapesRoom))
		}
		g := listInto(r.jsonReader, r.ints, "variables in groups", left, (*jsonReader).int)
		if n := len(g); n <= cap(r.ints) {
			r.ints = r.ints[n:n]
		}
		g = slices.Clip(g)
		if left -= len(g); len(g) == 0 {
			r.fail("empty group")
		}
		return g
	})
}
