package dap

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/cdfz-format/cdfz/slab"
)

// Request is a part of a data set, as a constraint expression selects it.
type Request struct {
	d      *Dataset
	arrays []array
	taken  map[int]bool // positions of their variables
}

// array is an array in an answer.
type array struct {
	v   int
	sel slab.Sel // without the last dimension of text
}

// maxItems bounds the variables of a constraint expression. An expression without
// projections may have more.
const maxItems = 1 << 14

// Parse makes a request of a constraint expression: the part of a URL after the question
// mark, still escaped. An empty one requests everything. Errors are *Error.
func (d *Dataset) Parse(ce string) (*Request, error) {
	text, err := url.PathUnescape(ce)
	if err != nil {
		return nil, errorf("malformed escape in the constraint expression")
	}
	projection, selection, _ := strings.Cut(text, "&")
	if selection != "" {
		return nil, errorf("selections are not supported, found %s", quote(selection))
	}
	r := &Request{d: d, taken: map[int]bool{}}
	if projection == "" {
		for i := range d.vars {
			if err := r.add(i, nil); err != nil {
				return nil, err
			}
		}
		return r, nil
	}
	if strings.Count(projection, ",") >= maxItems {
		return nil, errorf("expected at most %d projections", maxItems)
	}
	for p := range strings.SplitSeq(projection, ",") {
		if err := r.project(p); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// project adds a projection: a name with subscripts.
func (r *Request) project(text string) error {
	name, rest := text, ""
	if i := strings.IndexByte(text, '['); i >= 0 {
		name, rest = text[:i], text[i:]
	}
	if strings.ContainsAny(name, "()") {
		return errorf("functions are not supported, found %s", quote(text))
	}
	v, ok := r.d.lookup(name)
	if !ok {
		return errorf("no variable %s", quote(name))
	}
	var subs []slab.Sel
	for rest != "" {
		end := strings.IndexByte(rest, ']')
		if rest[0] != '[' || end < 0 {
			return errorf("malformed subscripts %s", quote(text))
		}
		sub, ok := parseSubscript(rest[1:end])
		if !ok {
			return errorf("malformed subscript %s of %s", quote(rest[:end+1]), name)
		}
		subs, rest = append(subs, sub), rest[end+1:]
	}
	if rank := len(r.d.vars[v].shape); len(subs) > 0 && len(subs) != rank {
		return errorf("%s has %d dimensions, found %d subscripts", name, rank, len(subs))
	}
	return r.add(v, subs)
}

// lookup finds a variable by its name, escaped or not.
func (d *Dataset) lookup(name string) (int, bool) {
	if v, ok := d.byName[name]; ok {
		return v, true
	}
	plain, err := url.PathUnescape(name)
	if err != nil {
		return 0, false
	}
	v, ok := d.byName[plain]
	return v, ok
}

// parseSubscript reads I, FIRST:LAST or FIRST:STRIDE:LAST. Count is LAST until the length
// of the dimension is known.
func parseSubscript(text string) (slab.Sel, bool) {
	fields := strings.Split(text, ":")
	if len(fields) > 3 {
		return slab.Sel{}, false
	}
	var n [3]int64
	for i, f := range fields {
		v, err := strconv.ParseUint(strings.TrimSpace(f), 10, 31)
		if err != nil {
			return slab.Sel{}, false
		}
		n[i] = int64(v)
	}
	first, stride, last := n[0], int64(1), n[0]
	switch len(fields) {
	case 2:
		last = n[1]
	case 3:
		stride, last = n[1], n[2]
	}
	if stride < 1 || last < first {
		return slab.Sel{}, false
	}
	return slab.Sel{Start: []int64{first}, Count: []int64{last}, Stride: []int64{stride}}, true
}

// add adds a variable.
func (r *Request) add(v int, subs []slab.Sel) error {
	w := &r.d.vars[v]
	if w.why != "" {
		return errorf("variable %s cannot be sent: %s. Ask for other variables, or use /files/", w.name, w.why)
	}
	if r.taken[v] {
		return errorf("%s is projected twice", w.name)
	}
	r.taken[v] = true
	a, err := r.d.newArray(v, subs)
	r.arrays = append(r.arrays, a)
	return err
}

// newArray applies subscripts to a variable.
func (d *Dataset) newArray(v int, subs []slab.Sel) (array, error) {
	shape := d.vars[v].shape
	a := array{v: v, sel: slab.Sel{Start: make([]int64, len(shape)), Count: slices.Clone(shape), Stride: make([]int64, len(shape))}}
	for k := range shape {
		a.sel.Stride[k] = 1
		if subs == nil {
			continue
		}
		first, stride, last := subs[k].Start[0], subs[k].Stride[0], subs[k].Count[0]
		if last >= shape[k] {
			return a, errorf("subscript [%d:%d:%d] of %s: dimension %s has length %d", first, stride, last, d.vars[v].name, d.vars[v].dims[k], shape[k])
		}
		a.sel.Start[k], a.sel.Stride[k], a.sel.Count[k] = first, stride, (last-first)/stride+1
	}
	return a, nil
}
