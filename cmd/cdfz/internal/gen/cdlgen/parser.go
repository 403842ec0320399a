package cdlgen

import "github.com/cdfz-format/cdfz/cdf3"

// variable is a variable while the text is read.
type variable struct {
	num     int // in the header
	attrs   []attribute
	storage Storage
	run     run
	records int64 // that its values take
	pos     place
	data    place // of its values; zero before
}

// attribute is an attribute and its place.
type attribute struct {
	attr cdf3.Attr
	pos  place
}

// parser reads the declarations and then the values.
type parser struct {
	lexer
	o    Options
	tok  token // the next token
	name string
	h    *cdf3.Header
	dims map[string]int
	vars map[string]*variable
	list []*variable // in order

	dimPos    []place
	attrs     []attribute // of the file
	names     int
	declared  int64 // bytes of names and attributes
	blockSize int64
	kind      string
	end       place

	values *spill
	buf    []byte // values on their way to the spill
}

// advance reads the next token.
func (p *parser) advance() (err error) {
	p.tok, err = p.scan()
	return err
}

// fail returns an error at the next token.
func (p *parser) fail(format string, args ...any) error {
	return p.failAt(p.tok.place, format, args...)
}

// expected returns the error for a token of the wrong kind.
func (p *parser) expected(what string) error {
	return p.fail("expected %s, found %s", what, &p.tok)
}

// take reads on after a token of a kind, which must be the next one.
func (p *parser) take(kind int, what string) error {
	if p.tok.kind != kind {
		return p.expected(what)
	}
	return p.advance()
}

// path takes a name, which may have a slash before it: the root of a netCDF-4 file.
func (p *parser) path(what string) (token, error) {
	if p.tok.kind == '/' {
		if err := p.advance(); err != nil {
			return token{}, err
		}
	}
	if !p.atName() {
		return token{}, p.expected(what)
	}
	t := p.tok
	return t, p.advance()
}

// atName reports whether the next token is a name. Words for numbers are names too,
// where a name must stand.
func (p *parser) atName() bool {
	if p.tok.kind == tokNumber && p.tok.num.kind == floating && p.tok.text != "" {
		p.tok.kind = tokName
	}
	return p.tok.kind == tokName
}

// count counts a name and the bytes of its declaration, which are limited.
func (p *parser) count(bytes int) error {
	p.names++
	p.declared += int64(bytes)
	if p.names > maxNames || p.declared > maxDeclare {
		return p.fail("more than %d names, or %d bytes of declarations", maxNames, maxDeclare)
	}
	return nil
}
