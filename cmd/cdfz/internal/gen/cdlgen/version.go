package cdlgen

import (
	"fmt"

	"github.com/cdfz-format/cdfz/cdf3"
)

// versions lists the versions, in order of preference.
var versions = []cdf3.Version{cdf3.Classic, cdf3.Offset64, cdf3.Data64}

// choose sets the version of the file and lays out the declarations.
func (p *parser) choose() error {
	v := p.o.Version
	if v == 0 {
		v = kinds[p.kind]
	}
	if v != 0 {
		return p.try(v)
	}
	var err error
	for _, v := range versions {
		if err = p.try(v); err == nil {
			return nil
		}
	}
	return err
}

// try lays out the declarations for a version. It fails if the version cannot hold them.
func (p *parser) try(v cdf3.Version) error {
	p.h.Version = v
	if what, at := p.misfit(v); what != "" {
		return p.failAt(at, "a %v file cannot have %s", v, what)
	}
	if err := p.layout(); err != nil {
		return err
	}
	if i := p.h.TooLarge(); i >= 0 {
		return p.failAt(p.list[i].pos, "a %v file cannot have variable %s: it is too large, unless it is the last one", v, quoted(p.h.Vars[i].Name))
	}
	return nil
}

// misfit returns a declaration that a version cannot hold, whatever the other ones are.
func (p *parser) misfit(v cdf3.Version) (what string, at place) {
	for i := range p.h.Dims {
		if d := &p.h.Dims[i]; d.Len > v.MaxDim() {
			return fmt.Sprintf("dimension %s of length %d", quoted(d.Name), d.Len), p.dimPos[i]
		}
	}
	if v == cdf3.Data64 {
		return "", place{}
	}
	wideAttr := func(list []attribute) bool {
		for _, a := range list {
			if a.attr.Type > cdf3.Double {
				what, at = fmt.Sprintf("attribute %s of type %s", quoted(a.attr.Name), a.attr.Type), a.pos
				return true
			}
		}
		return false
	}
	if wideAttr(p.attrs) {
		return what, at
	}
	for i, w := range p.list {
		if t := p.h.Vars[i].Type; t > cdf3.Double {
			return fmt.Sprintf("variable %s of type %s", quoted(p.h.Vars[i].Name), t), w.pos
		}
		if wideAttr(w.attrs) {
			return what, at
		}
	}
	return "", place{}
}

// layout lays out the header and checks that the file is not larger than allowed.
func (p *parser) layout() error {
	if err := p.h.LayoutRead(); err != nil {
		return p.failAt(p.here(), "%s", trimPackage(err))
	}
	// Each step is in the range of int64 after Layout.
	if n := p.h.NumRecs; n > 0 && p.h.RecSize > p.o.MaxSize/n {
		return p.failAt(p.here(), "%d records of %d bytes are more than %d bytes, the largest file allowed", n, p.h.RecSize, p.o.MaxSize)
	}
	for i := range p.h.Vars {
		if v := &p.h.Vars[i]; v.Begin+v.RecLen > p.o.MaxSize {
			return p.failAt(p.here(), "variable %s ends at byte %d, beyond the largest file allowed, %d bytes", quoted(v.Name), v.Begin+v.RecLen, p.o.MaxSize)
		}
	}
	return nil
}
