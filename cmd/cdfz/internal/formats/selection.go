package formats

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Selection is the name of a variable and the part to select.
type Selection struct {
	// Text is the selection as it was written.
	Text string
	// Var is the name of the variable.
	Var  string
	subs []subscript // none for the whole variable
}

type subKind uint8

const (
	subSlice subKind = iota
	subIndex
	subEllipsis
	subValue
)

// subscript is one part of a selection.
type subscript struct {
	kind         subKind
	text         string // as written
	lo, hi, step bound  // of a slice; for an index only lo
	dim          string // name of the dimension of a subValue
	values       valueRange
}

// bound is an optional number.
type bound struct {
	n   int64
	set bool
}

// SyntaxError reports a selection that cannot be parsed.
type SyntaxError struct {
	Text string // the selection
	At   int    // byte offset of the error
	Msg  string
}

// Error names the character, counting from 1.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("%s: %s, at character %d", e.Text, e.Msg, len([]rune(e.Text[:e.At]))+1)
}

// Is reports that the error is an [ErrSelection].
func (e *SyntaxError) Is(target error) bool { return target == ErrSelection }

// ErrSelection is wrapped by errors about selections that are malformed, or that a file does not
// have: an unknown variable or dimension, or an index or a value outside of it.
var ErrSelection = errors.New("wrong selection")

// selectionError is an ErrSelection with another text.
type selectionError struct{ error }

func (e selectionError) Unwrap() error        { return e.error }
func (e selectionError) Is(target error) bool { return target == ErrSelection }

// readError is an error of reading a coordinate variable.
type readError struct{ error }

func (e readError) Unwrap() error { return e.error }

// ParseSelection parses the name of a variable and an optional selection in brackets.
// Indices and ranges are as in Python and numpy. The subscript of a dimension may also
// be NAME=VALUE or NAME=FROM:TO with values of its coordinate variable:
//
//	tas
//	tas[0:10, :, -1]
//	tas[::-2, ..., 5]
//	tas[time=2001-05, lat=30:50, lon=13.4]
//
// A backslash escapes the next character of a name. A name may also be quoted as in Go.
// The error is a *SyntaxError.
func ParseSelection(text string) (*Selection, error) {
	s := &Selection{Text: text}
	var err error
	at := 0
	if s.Var, at, err = s.parseName(0, "["); err != nil {
		return nil, err
	}
	if at == len(text) {
		return s, nil
	}
	return s, s.parseSubs(at + 1)
}

// parseName parses a name that starts at byte at and ends before one of the stop
// characters or at the end of the text.
func (s *Selection) parseName(at int, stop string) (name string, end int, err error) {
	text := s.Text
	if at < len(text) && text[at] == '"' {
		q, err := strconv.QuotedPrefix(text[at:])
		if err == nil {
			name, err = strconv.Unquote(q)
		}
		if err != nil {
			return "", 0, &SyntaxError{text, at, `malformed quoted name; \" is a quote in a name`}
		}
		end = at + len(q)
		if end < len(text) && !strings.ContainsRune(stop, rune(text[end])) {
			return "", 0, &SyntaxError{text, end, "expected " + stop[:1] + " after the name"}
		}
		return name, end, nil
	}
	var b []byte
	i := at
	for i < len(text) && strings.IndexByte(stop, text[i]) < 0 {
		if text[i] != '\\' {
			b = append(b, text[i])
			i++
			continue
		}
		var n int
		if b, n, err = appendEscape(b, text[i:]); err != nil {
			return "", 0, &SyntaxError{text, i, err.Error()}
		}
		i += n
	}
	return string(b), i, nil
}

// appendEscape parses the escape sequence at the start of s. Letters and digits are
// escapes as in Go strings; any other character stands for itself.
func appendEscape(dst []byte, s string) ([]byte, int, error) {
	if len(s) < 2 {
		return nil, 0, errors.New(`expected a character after \`)
	}
	if c := s[1] | 0x20; (c < 'a' || c > 'z') && (s[1] < '0' || s[1] > '9') {
		return append(dst, s[1]), 2, nil
	}
	r, multibyte, rest, err := strconv.UnquoteChar(s, 0)
	if err != nil {
		return nil, 0, errors.New(`unknown escape, expected \n, \xHH, \uHHHH or the like`)
	}
	if multibyte {
		dst = append(dst, string(r)...)
	} else {
		dst = append(dst, byte(r))
	}
	return dst, len(s) - len(rest), nil
}

// subEnd returns the end of the subscript at byte at: a comma, a closing bracket or the
// end of the text. Names in it may contain these characters, escaped or in quotes.
func (s *Selection) subEnd(at int) int {
	text := s.Text
	for i := at; i < len(text); i++ {
		switch text[i] {
		case ',', ']':
			return i
		case '\\':
			i++
		case '"':
			if q, err := strconv.QuotedPrefix(text[i:]); err == nil {
				i += len(q) - 1
			}
		}
	}
	return len(text)
}

// parseSubs parses the subscripts from byte at to the closing bracket.
func (s *Selection) parseSubs(at int) error {
	ellipses := 0
	for {
		end := s.subEnd(at)
		if end == len(s.Text) {
			return &SyntaxError{s.Text, end, "expected ]"}
		}
		last := s.Text[end] == ']'
		// As in Python, a comma may follow the last subscript.
		if last && len(s.subs) > 0 && strings.TrimSpace(s.Text[at:end]) == "" {
			return s.parseEnd(end + 1)
		}
		sub, err := s.parseSub(at, end)
		if err != nil {
			return err
		}
		if sub.kind == subEllipsis {
			if ellipses++; ellipses > 1 {
				return &SyntaxError{s.Text, at, "expected one ..., found two"}
			}
		}
		s.subs = append(s.subs, sub)
		at = end + 1
		if last {
			return s.parseEnd(at)
		}
	}
}

func (s *Selection) parseEnd(at int) error {
	if at < len(s.Text) {
		return &SyntaxError{s.Text, at, "expected nothing after ]"}
	}
	return nil
}

func (s *Selection) parseSub(from, to int) (subscript, error) {
	sub := subscript{text: strings.TrimSpace(s.Text[from:to])}
	if sub.text == "..." {
		sub.kind = subEllipsis
		return sub, nil
	}
	first := from + len(s.Text[from:to]) - len(strings.TrimLeft(s.Text[from:to], " \t"))
	if name, eq, err := s.parseName(first, "=,]"); eq < to && eq < len(s.Text) && s.Text[eq] == '=' {
		if err != nil {
			return sub, err
		}
		sub.kind, sub.dim = subValue, strings.TrimRight(name, " \t")
		if sub.values, err = parseValues(s.Text[eq+1 : to]); err != nil {
			return sub, &SyntaxError{s.Text, eq + 1, err.Error()}
		}
		return sub, nil
	} else if err != nil && strings.ContainsAny(sub.text, `\"`) {
		return sub, err
	}
	return s.parseIndices(sub, from, to)
}

// parseIndices parses an index or a range of indices.
func (s *Selection) parseIndices(sub subscript, from, to int) (subscript, error) {
	parts := strings.Split(s.Text[from:to], ":")
	if len(parts) > 3 {
		return sub, &SyntaxError{s.Text, from, "expected at most two colons in " + sub.text}
	}
	for i, part := range parts {
		b, err := parseBound(part)
		if err != nil {
			return sub, &SyntaxError{s.Text, from + len(part) - len(strings.TrimLeft(part, " \t")), err.Error()}
		}
		from += len(part) + 1
		*[]*bound{&sub.lo, &sub.hi, &sub.step}[i] = b
	}
	if len(parts) == 1 {
		sub.kind = subIndex
		if !sub.lo.set {
			return sub, &SyntaxError{s.Text, to, "expected an index or a range"}
		}
	}
	if sub.step.set && sub.step.n == 0 {
		return sub, &SyntaxError{s.Text, to, "expected a step other than 0 in " + sub.text}
	}
	return sub, nil
}

// parseBound parses an optional integer. Integers beyond int64 are clamped: no
// dimension is that long.
func parseBound(s string) (bound, error) {
	if s = strings.TrimSpace(s); s == "" {
		return bound{}, nil
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return bound{}, fmt.Errorf("expected an integer, found %q", s)
	}
	return bound{max(n, -math.MaxInt64), true}, nil
}
