package cdlgen

import (
	"context"
	"io"
	"math"
	"strings"

	"github.com/cdfz-format/cdfz/cdf3"
)

// Parse reads CDL up to its closing brace, and checks that nothing but white space
// follows. Errors of r are wrapped.
func Parse(ctx context.Context, r io.Reader, o *Options) (*File, error) {
	p := &parser{lexer: newLexer(ctx, r), h: &cdf3.Header{}, dims: map[string]int{}, vars: map[string]*variable{}, values: new(spill)}
	if o != nil {
		p.o = *o
	}
	if p.o.MaxSize == 0 {
		p.o.MaxSize = defaultMaxSize
	}
	f, err := p.parse()
	if err != nil {
		p.values.Close()
		return nil, err
	}
	return f, nil
}

func (p *parser) parse() (*File, error) {
	// A byte order mark may precede UTF-8.
	if p.peek(0) == 0xef && p.peek(1) == 0xbb && p.peek(2) == 0xbf {
		p.at += 3
	}
	if err := p.advance(); err != nil {
		return nil, err
	}
	if p.tok.kind != tokName || !strings.EqualFold(p.tok.text, "netcdf") {
		return nil, p.expected(`"netcdf"`)
	}
	var err error
	if p.name, err = p.dataset(); err != nil {
		return nil, err
	}
	if err := p.advance(); err != nil {
		return nil, err
	}
	if err := p.take('{', "{"); err != nil {
		return nil, err
	}
	if err := p.body(); err != nil {
		return nil, err
	}
	p.end = p.tok.place
	if p.tok.kind == tokSection && p.tok.text == "group" {
		return nil, p.fail("groups need netCDF-4, which a classic file is not")
	}
	if err := p.take('}', "}"); err != nil {
		return nil, err
	}
	if p.tok.kind != tokEnd {
		return nil, p.expected("the end of the text after }")
	}
	return p.finish()
}

// body parses the sections. Each is optional, but their order is fixed. Attributes may
// stand in all but the last.
func (p *parser) body() error {
	if err := p.declarations(func() (bool, error) { return p.attributeHere() }); err != nil {
		return err
	}
	if p.tok.kind == tokSection && p.tok.text == "types" {
		if err := p.advance(); err != nil {
			return err
		}
		err := p.declarations(func() (bool, error) {
			ok, err := p.attributeHere()
			if err == nil && !ok {
				err = p.fail("user-defined types need netCDF-4, which a classic file is not")
			}
			return ok, err
		})
		if err != nil {
			return err
		}
	}
	for _, s := range []struct {
		word string
		line func() (bool, error)
	}{{"dimensions", p.dimension}, {"variables", p.declaration}} {
		if p.tok.kind == tokSection && p.tok.text == s.word {
			if err := p.advance(); err != nil {
				return err
			}
			if err := p.declarations(s.line); err != nil {
				return err
			}
		}
	}
	p.collect()
	if err := p.choose(); err != nil {
		return err
	}
	if p.tok.kind == tokSection && p.tok.text == "data" {
		if err := p.advance(); err != nil {
			return err
		}
		for p.tok.kind != '}' && p.tok.kind != tokSection {
			if err := p.assignment(); err != nil {
				return err
			}
		}
	}
	if p.tok.kind == tokSection && p.tok.text != "group" {
		return p.fail("section %s: expected types, dimensions, variables and data in this order, each once", &p.tok)
	}
	return nil
}

// declarations parses lines that end in semicolons, up to the next section. line returns
// false if the next token does not begin one.
func (p *parser) declarations(line func() (bool, error)) error {
	for p.tok.kind != '}' && p.tok.kind != tokSection && p.tok.kind != tokEnd {
		ok, err := line()
		if err != nil {
			return err
		}
		if !ok {
			return p.expected("a declaration")
		}
		if err := p.take(';', ";"); err != nil {
			return err
		}
	}
	return nil
}

// collect puts the attributes into the header. It is called when all are known.
func (p *parser) collect() {
	move := func(list []attribute) (out []cdf3.Attr) {
		for _, a := range list {
			out = append(out, a.attr)
		}
		return out
	}
	p.h.Attrs = move(p.attrs)
	for i, v := range p.list {
		p.h.Vars[i].Attrs = move(v.attrs)
	}
}

// finish lays out the header for the number of records.
func (p *parser) finish() (*File, error) {
	f := &File{Name: p.name, Header: p.h, BlockSize: p.blockSize, Kind: p.kind, values: p.values, noFill: p.o.NoFill}
	records := int64(0)
	for _, v := range p.list {
		f.Storage = append(f.Storage, v.storage)
		f.runs = append(f.runs, v.run)
		records = max(records, v.records)
	}
	p.h.NumRecsField = uint64(records)
	if p.h.Version != cdf3.Data64 && records >= math.MaxUint32 {
		return nil, p.failAt(p.end, "a %v file cannot have %d records", p.h.Version, records)
	}
	if err := p.layout(); err != nil {
		return nil, err
	}
	if n := f.Size(); n < 0 || n > p.o.MaxSize {
		return nil, p.failAt(p.end, "the file would have more than %d bytes", p.o.MaxSize)
	}
	return f, nil
}
