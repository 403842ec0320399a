package plan

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// jsonReader parses the JSON of plan and manifest (docs/FORMAT.md, "Rules for JSON").
// It is strict: names match byte for byte, no member is repeated, required members are
// present, nothing is null, integers fit, text is valid UTF-8. Its caller bounds the
// elements of lists, so memory is proportional to the text.
//
// The first error is kept. After it, all functions return zero values.
type jsonReader struct {
	s   string
	at  int // of the next byte; s itself stays, since storing a string for each token takes the collector's barriers
	ctx context.Context
	err error
}

func newJSONReader(text string) *jsonReader {
	return &jsonReader{s: text, ctx: context.Background()}
}

// fail keeps the first error.
func (r *jsonReader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("at byte %d: "+format, append([]any{r.at}, args...)...)
	}
}

// found describes the next token, for errors.
func (r *jsonReader) found() string {
	if r.at == len(r.s) {
		return "the end"
	}
	return strconv.QuoteToASCII(r.s[r.at:min(len(r.s), r.at+12)])
}

// end checks that only white space follows.
func (r *jsonReader) end() error {
	if r.space(); r.err == nil && r.at < len(r.s) {
		r.fail("expected the end, found %s", r.found())
	}
	return r.err
}

func (r *jsonReader) space() {
	for r.at < len(r.s) && (r.s[r.at] == ' ' || r.s[r.at] == '\n' || r.s[r.at] == '\t' || r.s[r.at] == '\r') {
		r.at++
	}
}

// opt consumes a token of one byte if it comes next.
func (r *jsonReader) opt(c byte) bool {
	r.space()
	if r.err != nil || r.at == len(r.s) || r.s[r.at] != c {
		return false
	}
	r.at++
	return true
}

func (r *jsonReader) want(c byte) {
	if !r.opt(c) {
		r.fail("expected %q, found %s", c, r.found())
	}
}

// members are the names of an object's members. The first need of them are required.
type members struct {
	names []string
	need  int
}

// object parses an object. It calls value with the position of each known member, in
// the order of the text, to parse its value. Other members are skipped.
func (r *jsonReader) object(m members, value func(i int)) {
	r.want('{')
	seen, next := uint64(0), 0
	var unknown []string
	for first := true; r.err == nil && !r.opt('}'); first = false {
		if !first {
			r.want(',')
		}
		i, name := next, "" // writers use the order of names
		if i < len(m.names) && r.named(m.names[i]) {
			name = m.names[i]
		} else {
			name = r.text()
			r.want(':')
			if r.err != nil {
				return
			}
			i = slices.Index(m.names, name)
		}
		switch {
		case i < 0 && slices.Contains(unknown, name), i >= 0 && seen>>i&1 != 0:
			r.fail("member %q occurs twice", name)
		case i < 0 && len(unknown) == MaxUnknown:
			r.fail("more than %d unknown members", MaxUnknown)
		case i < 0:
			unknown = append(unknown, name)
			r.skip(0)
		default:
			seen |= 1 << i
			next = i + 1
			value(i)
		}
	}
	for i := range m.need {
		if seen>>i&1 == 0 {
			r.fail("member %q is missing", m.names[i])
		}
	}
}

// named consumes a member's name as writers write it: in the order of the names and without
// white space. Most of a plan is such names.
func (r *jsonReader) named(name string) bool {
	s, n := r.s[r.at:], len(name)
	if r.err != nil || len(s) < n+3 || s[0] != '"' || s[n+1] != '"' || s[n+2] != ':' || s[1:n+1] != name {
		return false
	}
	r.at += n + 3
	return true
}

// list reads an array of at most limit elements.
func list[T any](r *jsonReader, what string, limit int, one func(*jsonReader) T) []T {
	return roomyList(r, what, limit, r.elements(), one)
}

// roomyList is list with initial room for the given number of elements.
func roomyList[T any](r *jsonReader, what string, limit, room int, one func(*jsonReader) T) []T {
	return listInto(r, make([]T, 0, min(limit, room)), what, limit, one)
}

// listInto is list with its elements in the room of out, which is empty.
func listInto[T any](r *jsonReader, out []T, what string, limit int, one func(*jsonReader) T) []T {
	r.want('[')
	if r.err != nil || r.opt(']') {
		return []T{}
	}
	for {
		if len(out) == limit {
			r.fail("more than %d %s", limit, what)
		}
		if len(out)%liveEvery == 0 && r.ctx.Err() != nil {
			r.fail("%w", r.ctx.Err())
		}
		x := one(r)
		if r.err != nil {
			return nil
		}
		out = append(out, x)
		if r.opt(']') {
			return out
		}
		r.want(',')
	}
}

// elements counts the elements of a list of numbers that begins here. For other lists
// the result is a guess.
func (r *jsonReader) elements() int {
	n := 1
	for i := r.at; i < len(r.s) && r.s[i] != ']'; i++ {
		if r.s[i] == ',' {
			n++
		}
	}
	return n
}

// int64 parses a non-negative integer. The format has no negative numbers.
func (r *jsonReader) int64() int64 { return int64(r.uint(math.MaxInt64)) }

func (r *jsonReader) uint32() uint32 { return uint32(r.uint(math.MaxUint32)) }

// int parses a count or a position, far below the limits of 32 bits.
func (r *jsonReader) int() int { return int(r.uint(math.MaxInt32)) }

func (r *jsonReader) uint(most uint64) uint64 {
	r.space()
	s, x, n := r.s[r.at:], uint64(0), 0
	for ; n < len(s) && s[n]-'0' <= 9; n++ {
		d := uint64(s[n] - '0')
		if n >= safeDigits && x > (most-d)/10 {
			break
		}
		x = 10*x + d
	}
	if x > most || n < len(s) && s[n]-'0' <= 9 {
		r.fail("expected an integer up to %d, found %s", most, r.found())
		return 0
	}
	if r.err == nil && (n == 0 || n > 1 && s[0] == '0' || n < len(s) && (s[n] == '.' || s[n] == 'e' || s[n] == 'E')) {
		r.fail("expected an integer from 0 to %d, found %s", most, r.found())
	}
	if r.err != nil {
		return 0
	}
	r.at += n
	return x
}

// safeDigits is the number of decimal digits that always fit 64 bits.
const safeDigits = 18

func (r *jsonReader) bool() bool {
	r.space()
	for _, word := range [...]string{"true", "false"} {
		if r.err == nil && strings.HasPrefix(r.s[r.at:], word) {
			r.at += len(word)
			return word == "true"
		}
	}
	r.fail("expected true or false, found %s", r.found())
	return false
}

// short reads a string of at most maxText bytes.
func (r *jsonReader) short() string {
	t := r.text()
	if len(t) > maxText {
		r.fail("expected at most %d bytes of text, found %d", maxText, len(t))
	}
	return t
}

// text parses a string. Without escapes it shares the memory of the input.
func (r *jsonReader) text() string {
	r.want('"')
	seen := byte(0) // bits of any byte
	for i := r.at; i < len(r.s) && r.err == nil; i++ {
		switch c := r.s[i]; {
		case c == '"':
			t := r.s[r.at:i]
			if seen >= utf8.RuneSelf && !utf8.ValidString(t) {
				r.fail("text is not UTF-8")
			}
			r.at = i + 1
			return t
		case c == '\\':
			return r.escaped(i)
		case c < ' ':
			r.fail("control character in text")
		default:
			seen |= c
		}
	}
	r.fail("unterminated text")
	return ""
}

// escaped parses the rest of a string whose first escape is at i.
func (r *jsonReader) escaped(i int) string {
	end := i
	for ; end < len(r.s) && r.s[end] != '"'; end++ {
		if r.s[end] == '\\' {
			end++
		}
	}
	if end >= len(r.s) {
		r.fail("unterminated text")
		return ""
	}
	t, err := unescape(r.s[r.at:end])
	if err != nil {
		r.fail("%v", err)
	}
	r.at = end + 1
	return t
}

const plainEscapes = `"\/bfnrt`

func unescape(s string) (string, error) {
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c < ' ' {
			return "", errors.New("control character in text")
		}
		if c != '\\' {
			out = append(out, c)
			continue
		}
		i++
		if k := strings.IndexByte(plainEscapes, s[i]); k >= 0 {
			out = append(out, "\"\\/\b\f\n\r\t"[k])
			continue
		}
		x, ok := hexRune(s[i:])
		if i += 4; ok && utf16.IsSurrogate(x) {
			var low rune
			if ok = len(s) > i+6 && s[i+1] == '\\'; ok {
				low, ok = hexRune(s[i+2:])
			}
			x = utf16.DecodeRune(x, low)
			ok = ok && x != utf8.RuneError
			i += 6
		}
		if !ok {
			return "", errors.New("malformed escape in text")
		}
		out = utf8.AppendRune(out, x)
	}
	if !utf8.Valid(out) {
		return "", errors.New("text is not UTF-8")
	}
	return string(out), nil
}

// hexRune parses the u and the four digits of an escape.
func hexRune(s string) (rune, bool) {
	if len(s) < 5 || s[0] != 'u' {
		return 0, false
	}
	x, err := strconv.ParseUint(s[1:5], 16, 16)
	return rune(x), err == nil
}

// raw parses an object of any members and returns its text.
func (r *jsonReader) raw() string {
	r.space()
	start := r.at
	if r.at == len(r.s) || r.s[r.at] != '{' {
		r.fail("expected an object, found %s", r.found())
	}
	r.skip(0)
	return r.s[start:r.at]
}

// skip skips a value of any type.
func (r *jsonReader) skip(depth int) {
	if depth == maxDepth {
		r.fail("more than %d levels", maxDepth)
	}
	r.space()
	if r.err != nil || r.at == len(r.s) {
		r.fail("expected a value, found the end")
		return
	}
	switch r.s[r.at] {
	case '"':
		r.text()
	case '{':
		r.at++
		for n := 0; r.err == nil && !r.opt('}'); n++ {
			if n > 0 {
				r.want(',')
			}
			if n%liveEvery == 0 && r.ctx.Err() != nil {
				r.fail("%w", r.ctx.Err())
			}
			r.text()
			r.want(':')
			r.skip(depth + 1)
		}
	case '[':
		r.at++
		for n := 0; r.err == nil && !r.opt(']'); n++ {
			if n > 0 {
				r.want(',')
			}
			if n%liveEvery == 0 && r.ctx.Err() != nil {
				r.fail("%w", r.ctx.Err())
			}
			r.skip(depth + 1)
		}
	default:
		r.scalar()
	}
}

// scalar reads a number, true, false or null.
func (r *jsonReader) scalar() {
	end := r.at
	for end < len(r.s) && strings.IndexByte(",]} \n\t\r", r.s[end]) < 0 {
		end++
	}
	switch w := r.s[r.at:end]; {
	case w == "true", w == "false", w == "null", isNumber(w):
		r.at = end
	default:
		r.fail("expected a value, found %s", r.found())
	}
}

// isNumber reports whether s is a number in the grammar of JSON.
func isNumber(s string) bool {
	digits := func() bool {
		n := 0
		for n < len(s) && s[n]-'0' <= 9 {
			n++
		}
		s = s[n:]
		return n > 0
	}
	s = strings.TrimPrefix(s, "-")
	if strings.HasPrefix(s, "0") {
		s = s[1:]
	} else if !digits() {
		return false
	}
	if strings.HasPrefix(s, ".") {
		if s = s[1:]; !digits() {
			return false
		}
	}
	if s != "" && (s[0] == 'e' || s[0] == 'E') {
		if s = s[1:]; s != "" && (s[0] == '+' || s[0] == '-') {
			s = s[1:]
		}
		if !digits() {
			return false
		}
	}
	return s == ""
}
