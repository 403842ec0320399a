package cdlgen

import (
	"strings"

	"github.com/cdfz-format/cdfz/cdf3"
)

// dimension parses NAME = LENGTH, separated by commas, or an attribute.
func (p *parser) dimension() (bool, error) {
	if ok, err := p.attributeHere(); ok || err != nil {
		return ok, err
	}
	for {
		if !p.atName() {
			return false, p.expected("the name of a dimension")
		}
		pos, dim := p.tok.place, cdf3.Dim{Name: p.tok.text}
		if _, ok := p.dims[dim.Name]; ok {
			return false, p.fail("a second dimension %s", quoted(dim.Name))
		}
		if err := p.advance(); err != nil {
			return false, err
		}
		if p.tok.kind == ':' {
			return false, p.fail("attribute of %s, which is not a variable declared before", quoted(dim.Name))
		}
		if err := p.take('=', "="); err != nil {
			return false, err
		}
		switch n := p.tok.num; {
		case p.tok.kind == tokName && p.tok.bare && strings.EqualFold(p.tok.text, "unlimited"):
			for i := range p.h.Dims {
				if p.h.Dims[i].Len == 0 {
					return false, p.fail("a second unlimited dimension; %s is the first, and a classic file has one", quoted(p.h.Dims[i].Name))
				}
			}
		case p.tok.kind != tokNumber || n.kind != integer:
			return false, p.expected("a length or UNLIMITED")
		case n.i <= 0:
			return false, p.fail("expected a length from 1 to 2^63-1, or UNLIMITED")
		default:
			dim.Len = n.i
		}
		if err := p.advance(); err != nil {
			return false, err
		}
		if err := p.count(len(dim.Name)); err != nil {
			return false, err
		}
		p.dims[dim.Name] = len(p.h.Dims)
		p.h.Dims, p.dimPos = append(p.h.Dims, dim), append(p.dimPos, pos)
		if p.tok.kind != ',' {
			return true, nil
		}
		if err := p.advance(); err != nil {
			return false, err
		}
	}
}

// declaration parses a line of the section of variables: an attribute, or variables of
// a type.
func (p *parser) declaration() (bool, error) {
	if p.tok.kind == ':' {
		return true, p.attribute(nil, 0)
	}
	first, err := p.path("a type, a variable or an attribute")
	if err != nil {
		return false, err
	}
	t, isType := typeNames[first.text]
	isType = isType && first.bare
	if p.tok.kind == ':' {
		if v := p.vars[first.text]; v != nil {
			return true, p.attribute(v, 0)
		}
		if isType {
			return true, p.attribute(nil, t)
		}
		return false, p.failAt(first.place, "attribute of %s, which is not a variable declared before", quoted(first.text))
	}
	switch {
	case isType:
	case first.bare && netcdf4Types[first.text]:
		return false, p.failAt(first.place, "type %s needs netCDF-4, which a classic file is not", first.text)
	default:
		return false, p.failAt(first.place, "expected a type or an attribute, found %s", quoted(first.text))
	}
	at, err := p.path("the name of a variable")
	if err != nil {
		return false, err
	}
	if p.tok.kind == ':' {
		v := p.vars[at.text]
		if v == nil {
			return false, p.failAt(at.place, "attribute of %s, which is not a variable declared before", quoted(at.text))
		}
		return true, p.attribute(v, t)
	}
	for {
		if err := p.newVariable(at, t); err != nil {
			return false, err
		}
		if p.tok.kind != ',' {
			return true, nil
		}
		if err := p.advance(); err != nil {
			return false, err
		}
		if at, err = p.path("the name of a variable"); err != nil {
			return false, err
		}
	}
}

// newVariable parses the dimensions of a variable, whose name has been taken.
func (p *parser) newVariable(at token, t cdf3.Type) error {
	if v := p.vars[at.text]; v != nil {
		return p.failAt(at.place, "a second variable %s; the first is in line %d", quoted(at.text), v.pos.line)
	}
	v := cdf3.Var{Name: at.text, Type: t}
	if p.tok.kind == '(' {
		for p.tok.kind == '(' || p.tok.kind == ',' {
			if err := p.advance(); err != nil {
				return err
			}
			dim, err := p.path("the name of a dimension")
			if err != nil {
				return err
			}
			id, ok := p.dims[dim.text]
			switch {
			case !ok:
				return p.failAt(dim.place, "dimension %s is not declared", quoted(dim.text))
			case p.h.Dims[id].Len == 0 && len(v.DimIDs) > 0:
				return p.failAt(dim.place, "the unlimited dimension %s must be the first of a variable", quoted(dim.text))
			case len(v.DimIDs) == maxDims:
				return p.failAt(dim.place, "more than %d dimensions", maxDims)
			}
			v.DimIDs = append(v.DimIDs, id)
		}
		if err := p.take(')', ") or ,"); err != nil {
			return err
		}
	}
	if err := p.count(len(v.Name) + 8*len(v.DimIDs)); err != nil {
		return err
	}
	w := &variable{num: len(p.list), pos: at.place, storage: Storage{Deflate: -1}}
	p.vars[v.Name] = w
	p.list, p.h.Vars = append(p.list, w), append(p.h.Vars, v)
	return nil
}
