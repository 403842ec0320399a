package cdlgen

import (
	"context"
	"fmt"
	"io"
	"unicode/utf8"
)

// place is a place in the text.
type place struct{ line, col int }

// lexer splits text into tokens. err is the first error of the source, which ends the
// text.
type lexer struct {
	ctx  context.Context
	r    io.Reader
	buf  []byte
	at   int // next byte in buf
	n    int // bytes in buf
	line int
	col  int // characters of the line before the next byte
	err  error
	done bool   // r is at its end
	word []byte // of the number or the piece of text that is being read
}

// lexBuf is the number of bytes read at once.
const lexBuf = 64 << 10

func newLexer(ctx context.Context, r io.Reader) lexer {
	return lexer{ctx: ctx, r: r, buf: make([]byte, lexBuf), line: 1}
}

// peek returns byte k after the next one, or -1 at the end. k is at most 2.
func (l *lexer) peek(k int) int {
	if l.at+k >= l.n && !l.fill() || l.at+k >= l.n {
		return -1
	}
	return int(l.buf[l.at+k])
}

// fill reads more bytes. It reports whether there are any.
func (l *lexer) fill() bool {
	if l.done || l.err != nil {
		return false
	}
	if err := l.ctx.Err(); err != nil {
		l.err = err
		return false
	}
	l.n = copy(l.buf, l.buf[l.at:l.n])
	l.at = 0
	for tries := 0; ; tries++ {
		n, err := l.r.Read(l.buf[l.n:])
		l.n += n
		switch {
		case err == io.EOF:
			l.done = true
		case err != nil:
			l.err = fmt.Errorf("cdl: cannot read the text: %w", err)
		case n == 0 && tries < 100:
			continue
		case n == 0:
			l.err = fmt.Errorf("cdl: cannot read the text: %w", io.ErrNoProgress)
		}
		return n > 0
	}
}

// next returns the next byte, which peek has seen.
func (l *lexer) next() byte {
	c := l.buf[l.at]
	l.at++
	switch {
	case c == '\n':
		l.line++
		l.col = 0
	case utf8.RuneStart(c):
		l.col++
	}
	return c
}

// here returns the place of the next character.
func (l *lexer) here() place { return place{l.line, l.col + 1} }

// failAt returns an error at a place, or the error of the source, which caused it.
func (l *lexer) failAt(at place, format string, args ...any) error {
	if l.err != nil {
		return l.err
	}
	return &SyntaxError{Line: at.line, Col: at.col, Msg: fmt.Sprintf(format, args...)}
}

// skip skips white space and comments.
func (l *lexer) skip() error {
	for {
		switch c := l.peek(0); {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f':
			l.next()
		case c == '/' && l.peek(1) == '/':
			for c := l.peek(0); c >= 0 && c != '\n'; c = l.peek(0) {
				l.next()
			}
		case c == '/' && l.peek(1) == '*':
			at := l.here()
			l.next()
			for l.next(); l.peek(0) != '*' || l.peek(1) != '/'; l.next() {
				if l.peek(1) < 0 {
					return l.failAt(at, "comment without end")
				}
			}
			l.next()
			l.next()
		default:
			return l.err
		}
	}
}

func nameStart(c int) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c >= 0x80
}

func nameByte(c int) bool {
	return nameStart(c) || c >= '0' && c <= '9' || c == '.' || c == '@' || c == '+' || c == '-'
}

// digit returns the value of a digit, or 99.
func digit(c int) int {
	switch {
	case c >= '0' && c <= '9':
		return c - '0'
	case c >= 'a' && c <= 'f':
		return c - 'a' + 10
	case c >= 'A' && c <= 'F':
		return c - 'A' + 10
	}
	return 99
}
