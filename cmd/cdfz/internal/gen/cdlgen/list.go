package cdlgen

import (
	"strconv"
	"strings"

	"github.com/cdfz-format/cdfz/cdf3"
)

// maxValues is the largest number of values of an attribute.
const maxValues = 1 << 22

// list is the value of an attribute. Text and numbers do not mix.
type list struct {
	numbers []constant
	text    []byte
	strings int // number of texts
	places  []place
	pos     place
}

// attrValues parses the values of an attribute, up to the semicolon.
func (p *parser) attrValues() (*list, error) {
	l := &list{pos: p.tok.place}
	if p.tok.kind == ';' {
		return l, nil
	}
	for {
		at := p.tok.place
		switch p.tok.kind {
		case tokText:
			err := p.readString(at, func(b []byte) error {
				if l.text = append(l.text, b...); len(l.text) > maxDeclare {
					return p.failAt(at, "more than %d bytes of text", maxDeclare)
				}
				return nil
			})
			if err != nil {
				return nil, err
			}
			l.strings++
		case tokNumber, tokLetter:
			if p.tok.num.kind == filler {
				return nil, p.fail("_ in an attribute; it stands for fill values of variables")
			}
			l.numbers, l.places = append(l.numbers, p.tok.num), append(l.places, at)
		case '{':
			return nil, p.fail("braces in an attribute")
		default:
			return nil, p.expected("a value")
		}
		if l.strings > 0 && len(l.numbers) > 0 {
			return nil, p.failAt(at, "text and numbers in one attribute")
		}
		if len(l.numbers) > maxValues {
			return nil, p.failAt(at, "more than %d values in one attribute", maxValues)
		}
		if err := p.advance(); err != nil {
			return nil, err
		}
		if p.tok.kind != ',' {
			return l, nil
		}
		if err := p.advance(); err != nil {
			return nil, err
		}
	}
}

// convertible reports whether a variable of type t can have the numbers.
func (l *list) convertible(t cdf3.Type) bool {
	for _, x := range l.numbers {
		if t == cdf3.Char && !x.letter() {
			return false
		}
		if t != cdf3.Char {
			if _, err := x.convert(nil, t); err != nil {
				return false
			}
		}
	}
	return true
}

// encode sets the type, the length and the values of an attribute.
func (p *parser) encode(a *cdf3.Attr, l *list) error {
	switch {
	case len(l.numbers) == 0 && (a.Type == 0 || a.Type == cdf3.Char):
		a.Type = cdf3.Char
		if a.Values = l.text; len(l.text) == 0 {
			a.Values = []byte{0} // as ncgen writes empty text
		}
		a.Len = int64(len(a.Values))
		return nil
	case len(l.numbers) == 0:
		return p.failAt(l.pos, "expected numbers of type %s, found text", a.Type)
	}
	if a.Type == 0 {
		t, err := commonType(l.numbers)
		if err != nil {
			return p.failAt(l.pos, "%v", err)
		}
		a.Type = t
	}
	a.Len = int64(len(l.numbers))
	for i, x := range l.numbers {
		var err error
		if a.Type == cdf3.Char {
			// Only characters, and numbers of one byte, are text.
			if !x.letter() {
				return p.failAt(l.places[i], "expected text, found a number")
			}
			a.Values = append(a.Values, byte(x.i))
		} else if a.Values, err = x.convert(a.Values, a.Type); err != nil {
			return p.failAt(l.places[i], "%v", err)
		}
	}
	return nil
}

// string returns the value if it is one text.
func (l *list) string() (string, error) {
	if l.strings == 0 {
		return "", errValue("text")
	}
	return strings.TrimRight(string(l.text), "\x00"), nil
}

// oneOf returns the value if it is one of some words.
func (l *list) oneOf(words ...string) (string, error) {
	s, err := l.string()
	if err != nil {
		return "", err
	}
	for _, w := range words {
		if s == w {
			return s, nil
		}
	}
	return "", errValue(strings.Join(words, ", ") + "; found " + quoted(s))
}

// int returns the value if it is one integer in a range.
func (l *list) int(lo, hi int64) (int64, error) {
	what := errValue("an integer from " + strconv.FormatInt(lo, 10) + " to " + strconv.FormatInt(hi, 10))
	if len(l.numbers) != 1 || l.numbers[0].kind != integer || l.numbers[0].i < lo || l.numbers[0].i > hi {
		return 0, what
	}
	return l.numbers[0].i, nil
}

// bool returns the value if it is true or false, as a word or as 1 or 0.
func (l *list) bool() (bool, error) {
	if l.strings == 0 {
		n, err := l.int(0, 1)
		return n == 1, err
	}
	s, err := l.oneOf("true", "false", "1", "0")
	return s == "true" || s == "1", err
}
