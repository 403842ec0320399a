package hostile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand"
	"slices"
	"strconv"
	"strings"
)

// node is a JSON value whose members keep their order and may be repeated.
type node struct {
	text  string // text of a scalar or of a changed value
	open  byte   // '{', '[' or 0
	names []string
	items []*node
}

func parse(b []byte) (*node, error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	return parseNext(d)
}

func parseNext(d *json.Decoder) (*node, error) {
	t, err := d.Token()
	if err != nil {
		return nil, err
	}
	open, ok := t.(json.Delim)
	if !ok {
		b, err := json.Marshal(t)
		return &node{text: string(b)}, err
	}
	n := &node{open: byte(open)}
	for d.More() {
		if n.open == '{' {
			name, err := d.Token()
			if err != nil {
				return nil, err
			}
			n.names = append(n.names, fmt.Sprint(name))
		}
		item, err := parseNext(d)
		if err != nil {
			return nil, err
		}
		n.items = append(n.items, item)
	}
	_, err = d.Token()
	return n, err
}

func (n *node) append(b []byte) []byte {
	if n.text != "" || n.open == 0 {
		return append(b, n.text...)
	}
	b = append(b, n.open)
	for i, item := range n.items {
		if i > 0 {
			b = append(b, ',')
		}
		if n.open == '{' {
			b = append(strconv.AppendQuote(b, n.names[i]), ':')
		}
		b = item.append(b)
	}
	return append(b, n.open+2)
}

func (n *node) clone() *node {
	c := *n
	c.names = slices.Clone(n.names)
	c.items = make([]*node, len(n.items))
	for i := range n.items {
		c.items[i] = n.items[i].clone()
	}
	return &c
}

func (n *node) member(name string) *node {
	if i := slices.Index(n.names, name); i >= 0 {
		return n.items[i]
	}
	return nil
}

// all appends a node and everything below it.
func (n *node) all(to []*node) []*node {
	to = append(to, n)
	for _, i := range n.items {
		to = i.all(to)
	}
	return to
}

// scalars are replacements for values.
var scalars = []string{
	"0", "1", "-1", "2", "255", "256", "1024", "65536", "16777216", "268435456", "1073741824", "2147483647", "2147483648", "4294967295", "4294967296",
	"1152921504606846976", "9223372036854775807", "9223372036854775808", "1e3", "1.0", "null", "true", "false", `""`, `"x"`, `"../../evil"`,
	"[]", "{}", "[[]]", `[0]`, `"float"`, `"double"`, `"\u001b[31m"`,
}

// lengths are lengths of lists and of text.
var lengths = []int{2, 33, 257, 1025, 4097, 65537, 300_000, 3_000_000}

// mutate changes something in a JSON value. All of its output is bounded by budget
// bytes.
func mutate(r *rand.Rand, root *node, budget int) {
	n := pick(r, root.all(nil))
	switch r.Intn(9) {
	case 0, 1, 2:
		if n.open == 0 {
			n.text = pick(r, scalars)
		}
	case 3: // remove
		if k := len(n.items); k > 0 {
			i := r.Intn(k)
			n.items = slices.Delete(n.items, i, i+1)
			if n.open == '{' {
				n.names = slices.Delete(n.names, i, i+1)
			}
		}
	case 4: // twice, or in another place
		if k := len(n.items); k > 0 {
			i, to := r.Intn(k), r.Intn(k)
			n.items = slices.Insert(n.items, to, n.items[i])
			if n.open == '{' {
				n.names = slices.Insert(n.names, to, n.names[i])
			}
		}
	case 5: // very often
		if k := len(n.items); k > 0 && n.open == '[' {
			repeat(r, n, n.items[r.Intn(k)].append(nil), budget)
		} else {
			repeat(r, n, []byte(pick(r, scalars)), budget)
		}
	case 6: // other case, unknown name
		if len(n.names) > 0 {
			i := r.Intn(len(n.names))
			n.names[i] = pick(r, []string{strings.ToUpper(n.names[i]), "x", "", pick(r, n.names)})
		}
	case 7: // deep
		k := min(pick(r, lengths), budget/2)
		n.text = strings.Repeat("[", k) + strings.Repeat("]", k)
	case 8: // long
		n.text = `"` + strings.Repeat(pick(r, []string{"x", "é", `\\`}), min(pick(r, lengths), budget/2)) + `"`
	}
}

// repeat makes a list of many equal elements, or an object of many equal members.
func repeat(r *rand.Rand, n *node, one []byte, budget int) {
	k := max(1, min(pick(r, lengths), budget/(len(one)+8)))
	if n.open == '{' {
		var b []byte
		for i := range k {
			b = fmt.Appendf(b, `"%x":%s,`, i, one)
		}
		n.text = "{" + string(b[:len(b)-1]) + "}"
		return
	}
	n.text = "[" + strings.Repeat(string(one)+",", k-1) + string(one) + "]"
}

// pick returns one of a list.
func pick[T any](r *rand.Rand, list []T) T { return list[r.Intn(len(list))] }
