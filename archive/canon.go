package archive

import (
	"encoding/json"
	"math"
	"unicode/utf8"
)

// canon reads JSON as this package writes it: members in the order of the fields,
// no space, no escapes. encoding/json takes longer for a plan than all else that
// opening an archive takes. Whoever uses it has that read what canon does not, so
// that canon decides nothing but how long it takes: wherever it ends well its
// result is that of encoding/json.
type canon struct {
	s   string
	bad bool // something was not as expected; all that follows fails
}

// opt takes a text if it is next.
func (c *canon) opt(text string) bool {
	if c.bad || len(c.s) < len(text) || c.s[:len(text)] != text {
		return false
	}
	c.s = c.s[len(text):]
	return true
}

// want takes a text, which must be next.
func (c *canon) want(text string) {
	if !c.opt(text) {
		c.bad = true
	}
}

// done says whether all was read and as expected.
func (c *canon) done() bool { return !c.bad && c.s == "" }

// uint takes an integer of at most max.
func (c *canon) uint(max uint64) uint64 {
	x, n := uint64(0), 0
	for ; n < len(c.s) && c.s[n]-'0' <= 9; n++ {
		if n == 18 { // any 18 digits fit
			c.bad = true
			return 0
		}
		x = 10*x + uint64(c.s[n]-'0')
	}
	if n == 0 || n > 1 && c.s[0] == '0' || x > max {
		c.bad = true
		return 0
	}
	c.s = c.s[n:]
	return x
}

func (c *canon) int64() int64 { return int64(c.uint(math.MaxInt64)) }

func (c *canon) int() int { return int(c.uint(math.MaxInt)) }

func (c *canon) uint32() uint32 { return uint32(c.uint(math.MaxUint32)) }

// text takes a string; it shares the memory of what is read.
func (c *canon) text() string {
	c.want(`"`)
	for i := 0; i < len(c.s) && !c.bad; i++ {
		switch b := c.s[i]; {
		case b == '"':
			t := c.s[:i]
			c.s = c.s[i+1:]
			c.bad = !utf8.ValidString(t)
			return t
		case b == '\\' || b < ' ':
			c.bad = true
		}
	}
	c.bad = true
	return ""
}

// object takes an object of any content.
func (c *canon) object() json.RawMessage {
	depth, quoted := 0, false
	for i := 0; i < len(c.s) && !c.bad; i++ {
		switch b := c.s[i]; {
		case b == '\\' || depth == 0 && b != '{' || depth == 64:
			c.bad = true
		case b == '"':
			quoted = !quoted
		case quoted:
		case b == '{':
			depth++
		case b == '}':
			if depth--; depth == 0 {
				v := []byte(c.s[:i+1])
				c.s = c.s[i+1:]
				c.bad = !json.Valid(v)
				return v
			}
		}
	}
	c.bad = true
	return nil
}

// list takes an array, of room elements perhaps.
func list[T any](c *canon, room int, one func(*canon) T) []T {
	c.want("[")
	if c.opt("]") {
		return []T{}
	}
	out := make([]T, 0, room)
	for !c.bad {
		out = append(out, one(c))
		if !c.opt(",") {
			break
		}
	}
	c.want("]")
	return out
}
