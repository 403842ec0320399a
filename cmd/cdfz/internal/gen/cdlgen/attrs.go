package cdlgen

import "github.com/cdfz-format/cdfz/cdf3"

// attributeHere parses an attribute if the next token begins one outside the section of
// variables: of the file, or of a variable, which cannot exist yet.
func (p *parser) attributeHere() (bool, error) {
	if p.tok.kind == ':' {
		return true, p.attribute(nil, 0)
	}
	t, ok := typeNames[p.tok.text]
	if p.tok.kind != tokName || !p.tok.bare || !ok {
		return false, nil
	}
	if err := p.skip(); err != nil || p.peek(0) != ':' {
		return false, err
	}
	if err := p.advance(); err != nil {
		return false, err
	}
	return true, p.attribute(nil, t)
}

// attribute parses an attribute from its colon on. v is nil for one of the file. t is its
// declared type, or 0.
func (p *parser) attribute(v *variable, t cdf3.Type) error {
	if err := p.advance(); err != nil {
		return err
	}
	if !p.atName() {
		return p.expected("the name of an attribute")
	}
	a := attribute{cdf3.Attr{Name: p.tok.text, Type: t}, p.tok.place}
	if err := p.advance(); err != nil {
		return err
	}
	if err := p.take('=', "="); err != nil {
		return err
	}
	l, err := p.attrValues()
	if err != nil {
		return err
	}
	if v == nil {
		if set := fileSpecials[a.attr.Name]; set != nil {
			return p.special(a, func() error { return set(p, l) })
		}
	} else if set := varSpecials[a.attr.Name]; set != nil {
		return p.special(a, func() error { return set(&v.storage, l) })
	}
	if v != nil && a.attr.Name == "_FillValue" {
		// It has the type of the variable, as in ncgen, whatever is declared. A number that
		// the variable cannot hold is no fill value, and keeps its type.
		a.attr.Type = 0
		if of := p.h.Vars[v.num].Type; l.strings > 0 || l.convertible(of) {
			a.attr.Type = of
		}
		if len(l.numbers)+l.strings != 1 {
			return p.failAt(a.pos, "_FillValue: expected one value, found %d", len(l.numbers)+l.strings)
		}
	}
	if err := p.encode(&a.attr, l); err != nil {
		return err
	}
	if err := p.count(len(a.attr.Name) + len(a.attr.Values)); err != nil {
		return err
	}
	of := &p.attrs
	if v != nil {
		of = &v.attrs
	}
	for i := range *of {
		if (*of)[i].attr.Name == a.attr.Name {
			(*of)[i] = a // as nc_put_att
			return nil
		}
	}
	*of = append(*of, a)
	return nil
}

// special sets a special attribute.
func (p *parser) special(a attribute, set func() error) error {
	if err := set(); err != nil {
		return p.failAt(a.pos, "%s: %v", a.attr.Name, err)
	}
	return nil
}
