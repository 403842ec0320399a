package cdlgen

import "github.com/cdfz-format/cdfz/cdf3"

// values is the state of a list of values of a variable.
type values struct {
	p     *parser
	v     *cdf3.Var
	size  int64
	fill  []byte
	depth int   // braces that are open
	n     int64 // bytes so far
	most  int64 // bytes that the variable may have
}

// assignment parses NAME = VALUES ; for a variable.
func (p *parser) assignment() error {
	at, err := p.path("the name of a variable")
	if err != nil {
		return err
	}
	v := p.vars[at.text]
	switch {
	case v == nil:
		return p.failAt(at.place, "variable %s is not declared", quoted(at.text))
	case v.data.line > 0:
		return p.failAt(at.place, "variable %s has values already, in line %d", quoted(at.text), v.data.line)
	}
	v.data = at.place
	if err := p.take('=', "="); err != nil {
		return err
	}
	w := &p.h.Vars[v.num]
	x := &values{p: p, v: w, size: w.Type.Size(), fill: p.fillOf(w), most: w.RecLen}
	if w.Record {
		// All sizes are products of at most MaxSize.
		if x.most = p.o.MaxSize; w.RecLen > 0 {
			x.most -= p.o.MaxSize % w.RecLen
		}
	}
	v.run.off = p.values.size()
	if p.tok.kind != ';' {
		if w.Type == cdf3.Char && len(w.DimIDs) > 0 {
			err = x.text()
		} else {
			err = x.numbers()
		}
		if err != nil {
			return err
		}
	}
	if err := x.flush(); err != nil {
		return err
	}
	if v.run.len = x.n; w.Record && w.RecLen > 0 {
		v.records = (x.n + w.RecLen - 1) / w.RecLen
	}
	return p.take(';', "; or ,")
}

// fillOf returns the fill value of a variable.
func (p *parser) fillOf(v *cdf3.Var) []byte {
	for i := range v.Attrs {
		if a := &v.Attrs[i]; a.Name == "_FillValue" && a.Type == v.Type {
			return a.Values[:v.Type.Size()]
		}
	}
	return v.Type.Fill()
}

// flushLen is the number of bytes of values passed on at once.
const flushLen = 64 << 10

// flush passes the values on.
func (x *values) flush() error {
	err := x.p.values.append(x.p.buf)
	x.p.buf = x.p.buf[:0]
	return err
}

// add counts n bytes that were appended to the buffer for a value at a place.
func (x *values) add(n int64, at place) error {
	if x.n += n; x.n > x.most {
		if x.v.Record {
			return x.p.failAt(at, "more values than the largest file allowed holds, %d bytes", x.p.o.MaxSize)
		}
		return x.p.failAt(at, "too many values: variable %s holds at most %d", quoted(x.v.Name), x.most/x.size)
	}
	if len(x.p.buf) >= flushLen {
		return x.flush()
	}
	return nil
}

// separator takes the closing braces after a value, and a comma. more is false at the
// semicolon.
func (x *values) separator() (more bool, err error) {
	p := x.p
	for p.tok.kind == '}' && x.depth > 0 {
		x.depth--
		if err := p.advance(); err != nil {
			return false, err
		}
	}
	switch {
	case p.tok.kind == ',':
		return true, p.advance()
	case x.depth > 0:
		return false, p.expected(", or }")
	case p.tok.kind != ';':
		return false, p.expected(", or ;")
	}
	return false, nil
}

// open takes opening braces. There may be one for each dimension.
func (x *values) open() error {
	for p := x.p; p.tok.kind == '{'; {
		if x.depth++; x.depth > len(x.v.DimIDs) {
			return p.fail("more braces than dimensions")
		}
		if err := p.advance(); err != nil {
			return err
		}
	}
	return nil
}

// numbers parses the values of a variable that is not text, or the one of a character.
func (x *values) numbers() error {
	p := x.p
	for {
		if err := x.open(); err != nil {
			return err
		}
		at := p.tok.place
		switch {
		case (p.tok.kind == tokNumber || p.tok.kind == tokLetter) && p.tok.num.kind == filler:
			p.buf = append(p.buf, x.fill...)
		case x.v.Type == cdf3.Char && p.tok.kind == tokText:
			if err := x.char(at); err != nil {
				return err
			}
		case x.v.Type == cdf3.Char && (p.tok.kind == tokLetter || p.tok.kind == tokNumber) && p.tok.num.letter():
			p.buf = append(p.buf, byte(p.tok.num.i))
		case x.v.Type == cdf3.Char:
			return p.expected("a character")
		case p.tok.kind == tokNumber || p.tok.kind == tokLetter:
			var err error
			if p.buf, err = p.tok.num.convert(p.buf, x.v.Type); err != nil {
				return p.failAt(at, "%v", err)
			}
		case p.tok.kind == tokText:
			return p.fail("expected a number of type %s, found text", x.v.Type)
		default:
			return p.expected("a value")
		}
		if err := x.add(x.size, at); err != nil {
			return err
		}
		if err := p.advance(); err != nil {
			return err
		}
		if more, err := x.separator(); err != nil || !more {
			return err
		}
	}
}

// char appends the first character of a text, for a scalar.
func (x *values) char(at place) error {
	c, any := byte(0), false
	err := x.p.readString(at, func(b []byte) error {
		if !any && len(b) > 0 {
			c, any = b[0], true
			b = b[1:]
		}
		if len(b) > 0 {
			return x.p.failAt(at, "expected one character")
		}
		return nil
	})
	x.p.buf = append(x.p.buf, c)
	return err
}

// text parses the values of an array of characters. Each text is padded with fill
// values to a multiple of the last dimension, unless that is the only one or unlimited.
// Characters that follow one another outside braces are one text (genchar.c of
// netCDF-C). Empty text is padded too.
func (x *values) text() error {
	p := x.p
	unit := int64(1)
	if n := len(x.v.DimIDs); n > 1 {
		unit = x.v.Shape[n-1]
	}
	letters := int64(0) // length of the text of characters that is not yet padded
	for {
		if err := x.open(); err != nil {
			return err
		}
		at := p.tok.place
		single := (p.tok.kind == tokLetter || p.tok.kind == tokNumber) && p.tok.num.letter() && p.tok.num.typ == byteType
		if letters > 0 && (!single || x.depth > 0) {
			if err := x.pad(letters, unit, at); err != nil {
				return err
			}
			letters = 0
		}
		n := int64(0)
		switch {
		case p.tok.kind == tokText:
			err := p.readString(at, func(b []byte) error {
				p.buf = append(p.buf, b...)
				n += int64(len(b))
				return x.add(int64(len(b)), at)
			})
			if err != nil {
				return err
			}
		case single || p.tok.kind == tokNumber && p.tok.num.letter():
			p.buf = append(p.buf, byte(p.tok.num.i))
			n = 1
		case p.tok.kind == tokNumber && p.tok.num.kind == filler:
			p.buf = append(p.buf, x.fill[0])
			n = 1
		default:
			return p.expected("text")
		}
		if p.tok.kind != tokText {
			if err := x.add(1, at); err != nil {
				return err
			}
		}
		if single && x.depth == 0 {
			letters++
		} else if err := x.pad(n, unit, at); err != nil {
			return err
		}
		if err := p.advance(); err != nil {
			return err
		}
		more, err := x.separator()
		if err != nil {
			return err
		}
		if !more {
			return x.padLast(letters, unit, at)
		}
	}
}

// padLast pads the characters at the end of a list.
func (x *values) padLast(letters, unit int64, at place) error {
	if letters == 0 {
		return nil
	}
	return x.pad(letters, unit, at)
}

// pad pads a text of n bytes to a multiple of unit, at least to unit.
func (x *values) pad(n, unit int64, at place) error {
	rest := -n % unit
	if rest < 0 {
		rest += unit
	}
	if n == 0 {
		rest = unit
	}
	// The values that follow need not be written out: WriteFile fills them in. But texts
	// after them do.
	for rest > 0 {
		k := min(rest, flushLen)
		for range k {
			x.p.buf = append(x.p.buf, x.fill[0])
		}
		if err := x.add(k, at); err != nil {
			return err
		}
		rest -= k
	}
	return nil
}
