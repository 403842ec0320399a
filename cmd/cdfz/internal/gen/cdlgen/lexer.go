package cdlgen

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// scan returns the next token.
func (l *lexer) scan() (token, error) {
	if err := l.skip(); err != nil {
		return token{}, err
	}
	t := token{place: l.here()}
	switch c := l.peek(0); {
	case c < 0:
		t.kind = tokEnd
		return t, l.err
	case nameStart(c) || c == '\\':
		return l.scanName(t)
	case c >= '0' && c <= '9' || c == '.':
		return l.scanNumber(t, false)
	case c == '+' || c == '-':
		return l.scanNumber(t, l.next() == '-')
	case c == '"':
		t.kind = tokText
	case c == '\'':
		return l.scanLetter(t)
	case strings.IndexByte("{}(),;:=/*", byte(c)) >= 0:
		t.kind = c
	default:
		r, _ := utf8.DecodeRune(l.buf[l.at:l.n])
		return t, l.failAt(t.place, "unexpected character %s", strconv.QuoteRune(r))
	}
	l.next()
	return t, nil
}

// escapes are the characters after a backslash that stand for others.
var escapes = map[byte]byte{'a': '\a', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t', 'v': '\v', '?': 0x7f}

// scanName scans a name, or the word of a section.
func (l *lexer) scanName(t token) (token, error) {
	t.kind, t.bare = tokName, true
	var b []byte
	for c := l.peek(0); nameByte(c) || c == '\\'; c = l.peek(0) {
		at := l.here()
		if l.next(); c == '\\' {
			t.bare = false
			e := l.peek(0)
			switch {
			case e < 0x20 || e >= 0x7f:
				return t, l.failAt(at, "expected a character after the backslash")
			case nameStart(e):
				return t, l.failAt(at, "backslash before a letter in a name")
			}
			c = int(l.next())
			if c == '?' {
				c = 0x7f // as in ncgen
			}
		}
		if b = append(b, byte(c)); len(b) > maxName {
			return t, l.failAt(t.place, "name %s is longer than %d bytes", quoted(string(b)), maxName)
		}
	}
	t.text = string(b)
	if t.bare && l.peek(0) == ':' {
		switch t.text {
		case "types", "dimensions", "variables", "data", "group":
			l.next()
			t.kind = tokSection
			return t, nil
		}
	}
	if t.bare {
		if x, ok := specialNumbers[t.text]; ok {
			t.kind, t.num = tokNumber, x
		}
	}
	return t, nil
}

// scanLetter scans a character in single quotes, which is a number of type byte.
func (l *lexer) scanLetter(t token) (token, error) {
	l.next()
	c := l.peek(0)
	switch {
	case c < 0 || c == '\n' || c == '\'':
		return t, l.failAt(t.place, "expected a character in quotes")
	case c == '\\':
		b, err := l.escape()
		if err != nil {
			return t, err
		}
		c = int(b)
	default:
		l.next()
	}
	if l.peek(0) != '\'' {
		return t, l.failAt(t.place, "expected one character in quotes; text takes double quotes")
	}
	l.next()
	t.kind = tokLetter
	t.num = constant{kind: integer, typ: byteType, i: int64(int8(c))}
	return t, nil
}

// escape reads a backslash and the characters that belong to it.
func (l *lexer) escape() (byte, error) {
	at := l.here()
	l.next()
	c := l.peek(0)
	if c < 0 {
		return 0, l.failAt(at, "backslash at the end of the text")
	}
	l.next()
	base, digits := 0, 0
	b := byte(0)
	switch {
	case c >= '0' && c <= '7':
		// '\0' alone is allowed in quotes.
		if d := l.peek(0); c == '0' && (d < '0' || d > '7') {
			return 0, nil
		}
		base, digits, b = 8, 2, byte(c-'0')
	case c == 'x' || c == 'X':
		base, digits = 16, 2
	default:
		if e, ok := escapes[byte(c)]; ok {
			return e, nil
		}
		return byte(c), nil
	}
	v := int(b)
	for range digits {
		d := digit(l.peek(0))
		if d >= base {
			return 0, l.failAt(at, "expected three octal digits or x and two hexadecimal ones after the backslash")
		}
		v = v*base + d
		l.next()
	}
	if v > 255 {
		return 0, l.failAt(at, `octal escape: expected at most \377`)
	}
	return byte(v), nil
}

// readString reads the rest of a text token and passes it on in pieces.
func (l *lexer) readString(at place, piece func([]byte) error) error {
	const most = 4096 // bytes of a piece
	for b := l.word[:0]; ; {
		switch l.peek(0) {
		case -1:
			return l.failAt(at, "text without closing quote")
		case '"':
			l.next()
			l.word = b
			return piece(b)
		case '\\':
			e, err := l.escape()
			if err != nil {
				return err
			}
			b = append(b, e)
		default:
			b = append(b, l.next())
		}
		if len(b) == most {
			if err := piece(b); err != nil {
				return err
			}
			b = b[:0]
		}
	}
}

// dataset reads the name of the data set, up to the opening brace.
func (l *lexer) dataset() (string, error) {
	at := l.here()
	var b []byte
	for c := l.peek(0); c != '{'; c = l.peek(0) {
		if c < 0 {
			return "", l.failAt(at, "expected {")
		}
		if c = int(l.next()); c > ' ' && c != '\\' {
			if b = append(b, byte(c)); len(b) > 1<<12 {
				return "", l.failAt(at, "expected {")
			}
		}
	}
	return string(b), nil
}
