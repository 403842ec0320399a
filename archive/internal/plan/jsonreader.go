package plan

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// jsonReader reads the JSON of plan and manifest. It knows objects, lists, integers and plain text,
// of which thousands of variables consist. Package jsontext, which takes four times as long, reads
// all that is less common: text with escapes or beyond ASCII, and values of any type. The reader
// checks the rest of docs/FORMAT.md, "Rules for JSON". Its callers bound the elements of lists, so
// memory is proportional to the text.
//
// The first error is kept. After it, all functions return zero values.
type jsonReader struct {
	text  []byte
	at    int  // of the next byte
	first bool // the begin of an object or a list comes before it
	d     jsontext.Decoder
	ctx   context.Context
	steps int // members, elements, and tokens of values of any type
	err   error
}

func newJSONReader(ctx context.Context, text []byte) *jsonReader {
	return &jsonReader{text: text, ctx: ctx}
}

// fail keeps the first error.
func (r *jsonReader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("at byte %d: "+format, append([]any{r.at}, args...)...)
	}
}

// expected fails at the next token.
func (r *jsonReader) expected(what string) {
	if found := r.text[r.at:]; len(found) > 0 {
		r.fail("expected %s, found %.12q", what, found)
	} else {
		r.fail("expected %s, found the end", what)
	}
}

// step checks the context from time to time.
func (r *jsonReader) step() {
	if r.steps++; r.steps%liveEvery == 0 && r.ctx.Err() != nil {
		r.fail("%w", r.ctx.Err())
	}
}

// end checks that only white space follows.
func (r *jsonReader) end() error {
	if r.peek(); r.at < len(r.text) {
		r.expected("the end")
	}
	return r.err
}

// peek returns the first byte of the next token. It returns 0 at the end and after an error.
func (r *jsonReader) peek() byte {
	if r.err != nil {
		return 0
	}
	for ; r.at < len(r.text); r.at++ {
		if c := r.text[r.at]; c > ' ' || c != ' ' && c != '\n' && c != '\t' && c != '\r' {
			return c
		}
	}
	return 0
}

// take consumes a token of one byte, which must come next.
func (r *jsonReader) take(c byte) {
	if r.peek() != c {
		r.expected(strconv.QuoteRune(rune(c)))
	} else {
		r.at++
	}
}

// begin consumes the begin of an object or a list.
func (r *jsonReader) begin(c byte) {
	r.take(c)
	r.first = true
}

// more reports whether another member or element comes next. It consumes the comma before it, or
// the given end.
func (r *jsonReader) more(end byte) bool {
	first := r.first
	r.first = false
	if r.peek() == end {
		r.at++
		return false
	}
	if !first {
		r.take(',')
	}
	r.step()
	return r.err == nil
}

// member is the name of a member and the place for its value: a pointer, or a function that reads
// the value.
type member struct {
	name string
	to   any
}

// object reads an object. The first need members are required. Members of other names are skipped.
func (r *jsonReader) object(need int, list []member) { r.orderedObject(0, need, list) }

// orderedObject is object for one whose first members must come first, in their order.
func (r *jsonReader) orderedObject(first, need int, list []member) {
	var seen uint64
	var unknown []string
	next := 0 // writers use the order of the list
	for r.begin('{'); r.more('}'); {
		if next < len(list) && seen>>next&1 == 0 && r.named(list[next].name) {
			seen |= 1 << next
			next++
			r.value(list[next-1].to)
			continue
		}
		name := r.string()
		r.take(':')
		if r.err != nil {
			return
		}
		i := slices.IndexFunc(list, func(m member) bool { return m.name == string(name) })
		switch {
		case i < 0 && slices.Contains(unknown, string(name)), i >= 0 && seen>>i&1 != 0:
			r.fail("member %q occurs twice", name)
		case i < 0 && len(unknown) == MaxUnknown:
			r.fail("more than %d unknown members", MaxUnknown)
		case i < 0:
			unknown = append(unknown, string(name))
			r.any()
		case next < first && i != next:
			r.fail("expected member %q first, found %q", list[next].name, name)
		default:
			seen |= 1 << i
			next = i + 1
			r.value(list[i].to)
		}
	}
	for i := range need {
		if seen>>i&1 == 0 {
			r.fail("member %q is missing", list[i].name)
		}
	}
}

// named consumes the name of a member if it comes next without white space, as writers write it.
// Half of a plan is such names.
func (r *jsonReader) named(name string) bool {
	s, n := r.text[r.at:], len(name)
	if len(s) < n+3 || s[0] != '"' || s[n+1] != '"' || s[n+2] != ':' || string(s[1:n+1]) != name {
		return false
	}
	r.at += n + 3
	return true
}

// value reads a value into its place.
func (r *jsonReader) value(to any) {
	switch to := to.(type) {
	case *int64:
		*to = r.int64()
	case *int:
		*to = r.int()
	case *uint32:
		*to = r.uint32()
	case *string:
		*to = r.short()
	case func():
		to()
	default:
		panic(fmt.Sprintf("archive: internal error: a member of type %T", to))
	}
}

// list reads a list of at most limit elements into the capacity of out, which is empty, or into
// more memory.
func list[T any](r *jsonReader, what string, limit int, out []T, one func() T) []T {
	for r.begin('['); r.more(']'); {
		if len(out) == limit {
			r.fail("more than %d %s", limit, what)
			break
		}
		out = append(out, one())
	}
	if out == nil {
		return []T{} // unlike a list that is absent
	}
	return out
}

func (r *jsonReader) int64() int64 { return int64(r.uint(math.MaxInt64)) }

func (r *jsonReader) uint32() uint32 { return uint32(r.uint(math.MaxUint32)) }

// int reads a count or a position.
func (r *jsonReader) int() int { return int(r.uint(math.MaxInt32)) }

// uint reads an integer without sign, fraction and exponent.
func (r *jsonReader) uint(most uint64) uint64 {
	r.peek()
	const maxDigits = 19 // always fit 64 bits, and more exceed 2^63
	s, x, n := r.text[r.at:], uint64(0), 0
	for ; n < len(s) && s[n]-'0' <= 9; n++ {
		x = 10*x + uint64(s[n]-'0')
	}
	if n == 0 || n > maxDigits || x > most || n > 1 && s[0] == '0' || n < len(s) && (s[n] == '.' || s[n]|0x20 == 'e') {
		r.expected(fmt.Sprintf("an integer from 0 to %d", most))
	}
	if r.err != nil {
		return 0
	}
	r.at += n
	return x
}

func (r *jsonReader) bool() bool {
	r.peek()
	for _, word := range [...]string{"true", "false"} {
		if r.err == nil && bytes.HasPrefix(r.text[r.at:], []byte(word)) {
			r.at += len(word)
			return word == "true"
		}
	}
	r.expected("true or false")
	return false
}

// string reads a string. It may share the memory of the text.
func (r *jsonReader) string() []byte {
	if r.peek() != '"' {
		r.expected("text")
		return nil
	}
	s := r.text[r.at+1:]
	for n := 0; n < len(s) && s[n] >= ' ' && s[n] < utf8.RuneSelf && s[n] != '\\'; n++ {
		if s[n] == '"' {
			r.at += n + 2
			return s[:n]
		}
	}
	b, err := jsontext.AppendUnquote(nil, r.any())
	if err != nil {
		r.fail("%w", err)
	}
	return b
}

// short reads a string of at most maxText bytes.
func (r *jsonReader) short() string { return string(r.shortText()) }

// shortText is short that shares the memory of the text, without escapes.
func (r *jsonReader) shortText() []byte {
	t := r.string()
	if len(t) > maxText {
		r.fail("expected at most %d bytes of text, found %d", maxText, len(t))
		return nil
	}
	return t
}

// hex reads n lower-case hexadecimal digits; if n is 0, any even number of them.
func (r *jsonReader) hex(n int) string {
	t := string(r.string())
	if n > 0 && len(t) != n || len(t)%2 != 0 || strings.Trim(t, "0123456789abcdef") != "" {
		r.fail("expected lower-case hexadecimal digits (%d, or any even number if 0), found %.80q", n, t)
	}
	return t
}

// any reads a value of any type and returns its text.
func (r *jsonReader) any() jsontext.Value {
	if r.err != nil {
		return nil
	}
	rest := r.text[r.at:]
	// Names within the value may occur twice. A set of them could take far more memory than the text.
	r.d.Reset(bytes.NewBuffer(rest), jsontext.AllowDuplicateNames(true))
	for {
		t, err := r.d.ReadToken()
		if err != nil {
			var e *jsontext.SyntacticError
			if errors.As(err, &e) {
				r.at += int(e.ByteOffset)
				err = e.Err
			}
			r.fail("%w", err)
			return nil
		}
		depth := r.d.StackDepth()
		if k := t.Kind(); depth > maxDepth || depth == maxDepth && k != '{' && k != '[' && k != '}' && k != ']' {
			r.fail("more than %d levels", maxDepth)
		}
		if r.step(); r.err != nil {
			return nil
		}
		if depth == 0 {
			n := r.d.InputOffset()
			r.at += int(n)
			return jsontext.Value(rest[:n])
		}
	}
}
