package joined

import (
	"bytes"
	"fmt"
	"slices"
	"sync"

	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/cf"
)

// template is the structure that all members share: that of the first one.
type template struct {
	desc  *Description
	first *cdf3.Header
	dim   int            // number of the joined dimension in first, -1 if new
	byVar map[string]int // numbers of the variables of first
	// joins tells for each variable whether it has the joined dimension.
	joins []bool
	units *cf.Units // of the coordinate variable of an existing dimension; nil: no times
	// noTime tells why the values of that variable are times that cannot be read, and are compared as numbers.
	noTime error
	// convert allows members whose times have other units, which are converted.
	convert bool
}

// newTemplate checks that the first member can be joined. The error is a *Problem.
func newTemplate(desc *Description, first *cdf3.Header) (*template, error) {
	t := &template{desc: desc, first: first, dim: -1, byVar: make(map[string]int, len(first.Vars)), joins: make([]bool, len(first.Vars)), convert: desc.Convert}
	bad := func(v, format string, args ...any) (*template, error) {
		return nil, &Problem{desc.Members[0].shown(), v, fmt.Sprintf(format, args...)}
	}
	seen := map[string]bool{}
	for i, d := range first.Dims {
		if seen[d.Name] {
			return bad("", "expected dimensions of different names, found %q twice", d.Name)
		}
		seen[d.Name] = true
		if d.Name == desc.Dim {
			t.dim = i
		}
	}
	for i := range first.Vars {
		name := first.Vars[i].Name
		if _, twice := t.byVar[name]; twice {
			return bad(name, "expected variables of different names, found two of this name")
		}
		t.byVar[name] = i
	}
	switch {
	case desc.New && t.dim >= 0:
		return bad("", "expected no dimension %q, since it is to be new, found one", desc.Dim)
	case !desc.New && t.dim < 0:
		return bad("", "expected a dimension %q, found none", desc.Dim)
	}
	for _, name := range desc.Vars {
		i, ok := t.byVar[name]
		if !ok {
			return bad(name, "expected this variable, which gets dimension %q, found none", desc.Dim)
		}
		t.joins[i] = true
	}
	if desc.New {
		for i, d := range first.Dims {
			if dimLen(first, i) == 0 {
				return bad("", "expected a dimension %q of one index or more, found none", d.Name)
			}
		}
		return t, nil
	}
	some := false
	for i := range first.Vars {
		switch at := slices.Index(first.Vars[i].DimIDs, t.dim); {
		case at > 0 || at == 0 && slices.Contains(first.Vars[i].DimIDs[1:], t.dim):
			return bad(first.Vars[i].Name, "expected %q as the first dimension, found it as another one", desc.Dim)
		case at == 0:
			t.joins[i], some = true, true
		}
	}
	if !some {
		return bad("", "expected variables with dimension %q, found none", desc.Dim)
	}
	t.units, t.noTime = t.unitsOf()
	return t, nil
}

// dimLen returns the length of a dimension of a file.
func dimLen(h *cdf3.Header, id int) int64 {
	if n := h.Dims[id].Len; n > 0 {
		return n
	}
	return h.NumRecs
}

// lenOf returns the number of indices of a member along the joined dimension. The member was compared.
func (t *template) lenOf(h *cdf3.Header) int64 {
	if t.desc.New {
		return 1
	}
	for i := range h.Dims {
		if h.Dims[i].Name == t.desc.Dim {
			return dimLen(h, i)
		}
	}
	return 0
}

// compare returns the number that each variable of the first member has in another one, and how the values of
// some are converted. The error has all differences.
func (t *template) compare(location string, h *cdf3.Header) ([]int, map[int]*conversion, error) {
	p := &problems{member: location}
	t.compareDims(p, h)
	vars := make([]int, len(t.first.Vars))
	for i := range vars {
		vars[i] = -1
	}
	for i := range h.Vars {
		v := &h.Vars[i]
		n, ok := t.byVar[v.Name]
		switch {
		case !ok:
			p.add(v.Name, "expected no variable of this name, as in %s, found one", t.desc.Members[0].shown())
		case vars[n] >= 0:
			p.add(v.Name, "expected variables of different names, found two of this name")
		default:
			vars[n] = i
			t.compareVar(p, n, h, i)
		}
	}
	for n, i := range vars {
		if i < 0 {
			p.add(t.first.Vars[n].Name, "expected this variable, as in %s, found none", t.desc.Members[0].shown())
		}
	}
	if err := p.err(); err != nil || !p.converts {
		return vars, nil, err
	}
	convs, err := t.conversions(location, h, vars)
	return vars, convs, err
}

// compareDims compares the dimensions.
func (t *template) compareDims(p *problems, h *cdf3.Header) {
	lens := make(map[string]int64, len(h.Dims))
	for i, d := range h.Dims {
		if _, twice := lens[d.Name]; twice {
			p.add("", "expected dimensions of different names, found %q twice", d.Name)
		}
		lens[d.Name] = dimLen(h, i)
	}
	for i, d := range t.first.Dims {
		n, ok := lens[d.Name]
		delete(lens, d.Name)
		switch want := dimLen(t.first, i); {
		case !ok:
			p.add("", "expected a dimension %q, found none", d.Name)
		case i != t.dim && n != want:
			p.add("", "dimension %q: expected length %d, as in %s, found %d", d.Name, want, t.desc.Members[0].shown(), n)
		}
	}
	for _, d := range h.Dims {
		if _, more := lens[d.Name]; more {
			p.add("", "expected no dimension %q, as in %s, found one", d.Name, t.desc.Members[0].shown())
		}
	}
}

// compareVar compares variable i with variable n of the first member.
func (t *template) compareVar(p *problems, n int, h *cdf3.Header, i int) {
	w, v := &t.first.Vars[n], &h.Vars[i]
	if v.Type != w.Type {
		p.add(v.Name, "expected type %s, found %s", w.Type, v.Type)
	}
	if want, found := dimNames(t.first, w), dimNames(h, v); !slices.Equal(want, found) {
		p.add(v.Name, "expected dimensions %q, found %q", want, found)
	}
	times := sync.OnceValues(func() (bool, bool) { return t.compareTimes(p, n, h, i) })
	attr := func(name string, want, found *cdf3.Attr) {
		if sameAttr(want, found) {
			return
		}
		if name == "units" || name == "calendar" {
			if same, calendar := times(); same || calendar && name == "calendar" {
				return
			}
		}
		t.compareAttr(p, v.Name, name, want, found)
	}
	for i := range w.Attrs {
		a := &w.Attrs[i]
		attr(a.Name, a, v.Attr(a.Name))
	}
	for i := range v.Attrs {
		if a := &v.Attrs[i]; w.Attr(a.Name) == nil {
			attr(a.Name, nil, a)
		}
	}
}

// meaning lists the attributes that change the meaning of values.
var meaning = []string{"units", "calendar", "scale_factor", "add_offset", "_Unsigned", "_FillValue", "missing_value"}

func sameAttr(a, b *cdf3.Attr) bool {
	return a != nil && b != nil && a.Type == b.Type && bytes.Equal(a.Values, b.Values)
}

// compareAttr reports an attribute of a variable that differs. Either may be nil.
func (t *template) compareAttr(p *problems, v, name string, want, found *cdf3.Attr) {
	if t.desc.First && !slices.Contains(meaning, name) {
		return
	}
	p.add(v, "attribute %q: expected %s, found %s", name, attrText(want), attrText(found))
}

// attrText shows an attribute in a message.
func attrText(a *cdf3.Attr) string {
	if a == nil {
		return "none"
	}
	s := ""
	if a.Type == cdf3.Char {
		s = fmt.Sprintf("%q", a.Text())
	} else {
		s = fmt.Sprintf("%v of type %s", a.Value(), a.Type)
	}
	const most = 80
	if len(s) > most {
		s = fmt.Sprintf("%s… (%d values)", s[:most], a.Len)
	}
	return s
}

func dimNames(h *cdf3.Header, v *cdf3.Var) []string {
	names := make([]string, len(v.DimIDs))
	for i, id := range v.DimIDs {
		names[i] = h.Dims[id].Name
	}
	return names
}

// header returns the header of the joined file, whose joined dimension has n indices. It has the version
// of the first member, or the next that has room.
func (t *template) header(n int64) (*cdf3.Header, error) {
	var err error
	for _, v := range []cdf3.Version{cdf3.Classic, cdf3.Offset64, cdf3.Data64} {
		if v < t.first.Version {
			continue
		}
		h := t.plain(n)
		h.Version = v
		if err = h.LayoutRead(); err != nil {
			continue
		}
		if i := h.TooLarge(); i >= 0 {
			err = fmt.Errorf("joined: variable %q is too large for %v", h.Vars[i].Name, v)
			continue
		}
		return h, nil
	}
	return nil, err
}

// plain returns the joined header before it is laid out.
func (t *template) plain(n int64) *cdf3.Header {
	h := &cdf3.Header{NumRecsField: uint64(t.first.NumRecs), Attrs: t.first.Attrs}
	shift := 0
	if t.desc.New {
		h.Dims = append(h.Dims, cdf3.Dim{Name: t.desc.Dim})
		h.NumRecsField = uint64(n)
		shift = 1
	}
	for i, d := range t.first.Dims {
		switch {
		case i == t.dim && d.Len == 0:
			h.NumRecsField = uint64(n)
		case i == t.dim:
			d.Len = n
		case t.desc.New && d.Len == 0: // a file has one unlimited dimension
			d.Len = t.first.NumRecs
		}
		h.Dims = append(h.Dims, d)
	}
	h.Vars = make([]cdf3.Var, len(t.first.Vars))
	for i := range h.Vars {
		v := &t.first.Vars[i]
		w := cdf3.Var{Name: v.Name, DimIDs: []int{}, Attrs: v.Attrs, Type: v.Type}
		if t.desc.New && t.joins[i] {
			w.DimIDs = append(w.DimIDs, 0)
		}
		for _, id := range v.DimIDs {
			w.DimIDs = append(w.DimIDs, id+shift)
		}
		h.Vars[i] = w
	}
	return h
}
