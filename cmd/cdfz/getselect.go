package main

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/cdfz-format/cdfz/cdf3"
)

// picked is a VAR argument as it was written: a name, and what stands in the
// brackets behind it.
type picked struct {
	arg  string
	name string
	subs []subscript // none: all of the variable
}

type subKind uint8

const (
	subSlice subKind = iota
	subIndex
	subEllipsis
)

// subscript is one part of a selection.
type subscript struct {
	kind         subKind
	text         string // as it was written
	lo, hi, step bound  // of a slice; lo is the index otherwise
}

// bound is a number that may be left out.
type bound struct {
	n   int64
	set bool
}

// syntaxError says what is wrong with a VAR argument, and where.
type syntaxError struct {
	arg string
	at  int // byte
	msg string
}

func (e *syntaxError) Error() string {
	return fmt.Sprintf("%s: %s, at character %d", e.arg, e.msg, len([]rune(e.arg[:e.at]))+1)
}

// parsePicked takes a VAR argument apart.
func parsePicked(arg string) (*picked, error) {
	p := &picked{arg: arg}
	at, err := p.parseName()
	if err != nil {
		return nil, err
	}
	if at == len(arg) {
		return p, nil
	}
	end := strings.IndexByte(arg[at:], ']')
	if end < 0 {
		return nil, &syntaxError{arg, len(arg), "expected ]"}
	}
	if at+end+1 < len(arg) {
		return nil, &syntaxError{arg, at + end + 1, "expected nothing behind ]"}
	}
	return p, p.parseSubs(at+1, at+end)
}

// parseName reads the name and returns where it ends: at [ or at the end.
func (p *picked) parseName() (int, error) {
	arg := p.arg
	if arg != "" && arg[0] == '"' {
		q, err := strconv.QuotedPrefix(arg)
		if err != nil {
			return 0, &syntaxError{arg, 0, `a name in quotes that is none; \" is a quote in a name`}
		}
		if p.name, err = strconv.Unquote(q); err != nil {
			return 0, &syntaxError{arg, 0, "a name in quotes that is none"}
		}
		if len(q) < len(arg) && arg[len(q)] != '[' {
			return 0, &syntaxError{arg, len(q), "expected [ behind the name"}
		}
		return len(q), nil
	}
	var name []byte
	i := 0
	for i < len(arg) && arg[i] != '[' {
		if arg[i] != '\\' {
			name = append(name, arg[i])
			i++
			continue
		}
		var n int
		var err error
		if name, n, err = appendEscape(name, arg[i:]); err != nil {
			return 0, &syntaxError{arg, i, err.Error()}
		}
		i += n
	}
	p.name = string(name)
	return i, nil
}

// appendEscape reads the backslash at the start of s and what belongs to it:
// letters and digits are the escapes that messages print names with, and
// anything else stands for itself.
func appendEscape(dst []byte, s string) ([]byte, int, error) {
	if len(s) < 2 {
		return nil, 0, errors.New(`a \ with nothing behind it`)
	}
	if c := s[1] | 0x20; (c < 'a' || c > 'z') && (s[1] < '0' || s[1] > '9') {
		return append(dst, s[1]), 2, nil
	}
	r, multibyte, rest, err := strconv.UnquoteChar(s, 0)
	if err != nil {
		return nil, 0, errors.New(`an escape other than \xHH, \uHHHH and such`)
	}
	if multibyte {
		dst = append(dst, string(r)...)
	} else {
		dst = append(dst, byte(r))
	}
	return dst, len(s) - len(rest), nil
}

// parseSubs reads what stands between the brackets.
func (p *picked) parseSubs(from, to int) error {
	if strings.TrimSpace(p.arg[from:to]) == "" {
		return &syntaxError{p.arg, from, "expected an index or a range"}
	}
	ellipses := 0
	for at := from; at <= to; {
		end := strings.IndexByte(p.arg[at:to], ',')
		if end < 0 {
			end = to - at
		}
		end += at
		// As in Python, a comma may stand behind the last.
		if end == to && at > from && strings.TrimSpace(p.arg[at:end]) == "" {
			break
		}
		s, err := parseSub(p.arg, at, end)
		if err != nil {
			return err
		}
		if s.kind == subEllipsis {
			if ellipses++; ellipses > 1 {
				return &syntaxError{p.arg, at, "a second ..."}
			}
		}
		p.subs = append(p.subs, s)
		at = end + 1
	}
	return nil
}

func parseSub(arg string, from, to int) (subscript, error) {
	s := subscript{text: strings.TrimSpace(arg[from:to])}
	if s.text == "..." {
		s.kind = subEllipsis
		return s, nil
	}
	parts := strings.Split(arg[from:to], ":")
	if len(parts) > 3 {
		return s, &syntaxError{arg, from, "more than two colons in " + s.text}
	}
	for i, part := range parts {
		b, err := parseBound(part)
		if err != nil {
			return s, &syntaxError{arg, from + len(part) - len(strings.TrimLeft(part, " \t")), err.Error()}
		}
		from += len(part) + 1
		*[]*bound{&s.lo, &s.hi, &s.step}[i] = b
	}
	if len(parts) == 1 {
		s.kind = subIndex
		if !s.lo.set {
			return s, &syntaxError{arg, to, "expected an index or a range"}
		}
	}
	if s.step.set && s.step.n == 0 {
		return s, &syntaxError{arg, to, "a step of 0 in " + s.text}
	}
	return s, nil
}

// parseBound reads an integer or nothing. What is out of the range of int64 is
// cut to it: as large are no dimensions.
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

// axis is the part of a selection that lies in one dimension.
type axis struct {
	dim                 int // in the header, -1: none
	start, count, delta int64
	keep                bool // it is a dimension of the result
}

// resolve applies a selection to a variable, as Python does: ranges are cut to
// the dimension, indices must lie in it, what is not given is all.
func (p *picked) resolve(h *cdf3.Header, v *cdf3.Var) ([]axis, error) {
	rank := len(v.Shape)
	given := len(p.subs)
	wide := slices.IndexFunc(p.subs, func(s subscript) bool { return s.kind == subEllipsis })
	if wide >= 0 {
		given--
	}
	if given > rank {
		things := "indices"
		if given == 1 {
			things = "index"
		}
		return nil, fmt.Errorf("%s: %d %s, and %s has %s", p.arg, given, things, quoted(v.Name), dimsText(h, v))
	}
	out := make([]axis, rank)
	for i := range out {
		sub := subscript{}
		switch {
		case wide < 0 || i < wide:
			if i < len(p.subs) {
				sub = p.subs[i]
			}
		case i >= rank-(given-wide):
			sub = p.subs[i-rank+len(p.subs)]
		}
		var err error
		if out[i], err = sub.resolve(v.Shape[i]); err != nil {
			return nil, fmt.Errorf("%s: dimension %s of %s has length %d: %w", p.arg, dimName(h, v, i), quoted(v.Name), v.Shape[i], err)
		}
		out[i].dim = v.DimIDs[i]
	}
	return out, nil
}

// resolve applies a subscript to a dimension of length n.
func (s *subscript) resolve(n int64) (axis, error) {
	if s.kind == subIndex {
		i := s.lo.n
		if i < 0 {
			i += n
		}
		switch {
		case i >= 0 && i < n:
			return axis{start: i, count: 1, delta: 1}, nil
		case n == 0:
			return axis{}, fmt.Errorf("there is no index %s", s.text)
		}
		return axis{}, fmt.Errorf("there is no index %s, expected %d to %d", s.text, -n, n-1)
	}
	step := int64(1)
	if s.step.set {
		step = s.step.n
	}
	// The range of what a bound may be: at the far end, one beyond.
	least, most := int64(0), n
	if step < 0 {
		least, most = -1, n-1
	}
	at := func(b bound, missing int64) int64 {
		switch {
		case !b.set:
			return missing
		case b.n < 0:
			return max(b.n+n, least)
		}
		return min(b.n, most)
	}
	a := axis{delta: step, keep: true}
	if step > 0 {
		lo, hi := at(s.lo, 0), at(s.hi, n)
		if lo < hi {
			a.start, a.count = lo, (hi-lo-1)/step+1
		}
	} else {
		lo, hi := at(s.lo, n-1), at(s.hi, -1)
		if lo > hi {
			a.start, a.count = lo, (lo-hi-1)/-step+1
		}
	}
	if a.count <= 1 {
		a.delta = 1
	}
	return a, nil
}

// dimsText says which dimensions a variable has.
func dimsText(h *cdf3.Header, v *cdf3.Var) string {
	switch len(v.DimIDs) {
	case 0:
		return "no dimension"
	case 1:
		return "one dimension, " + dimName(h, v, 0)
	}
	names := make([]string, 0, len(v.DimIDs))
	for i := range v.DimIDs {
		if i == 8 {
			names = append(names, "…")
			break
		}
		names = append(names, dimName(h, v, i))
	}
	return fmt.Sprintf("%d dimensions, %s", len(v.DimIDs), strings.Join(names, ", "))
}

func dimName(h *cdf3.Header, v *cdf3.Var, i int) string { return quoted(h.Dims[v.DimIDs[i]].Name) }

// findVar is the number of the first variable of a name.
func findVar(h *cdf3.Header, name string) (int, error) {
	for i := range h.Vars {
		if h.Vars[i].Name == name {
			return i, nil
		}
	}
	err := fmt.Errorf("there is no variable %s", quoted(name))
	names := nearNames(h, name)
	switch {
	case len(h.Vars) == 0:
		return 0, fmt.Errorf("%w, nor any other", err)
	case len(names) > 0:
		return 0, hinted(err, "near it: %s", strings.Join(names, ", "))
	}
	for i := range h.Vars {
		if i == maxNames {
			names = append(names, fmt.Sprintf("and %d more", len(h.Vars)-i))
			break
		}
		names = append(names, quoted(h.Vars[i].Name))
	}
	return 0, hinted(err, "there are %s", strings.Join(names, ", "))
}

// maxNames is how many names an error lists.
const maxNames = 12

// nearNames are the variables whose names are like one, the nearest first.
func nearNames(h *cdf3.Header, name string) []string {
	type near struct {
		name string
		far  int
	}
	var found []near
	low := strings.ToLower(strings.TrimSpace(name))
	for i := range h.Vars {
		other := strings.ToLower(h.Vars[i].Name)
		far := distance(low, other)
		if low != "" && other != "" && (strings.Contains(other, low) || strings.Contains(low, other)) {
			far = min(far, 2)
		}
		if far <= max(1, len(low)/3) || far == 0 {
			found = append(found, near{quoted(h.Vars[i].Name), far})
		}
	}
	// The first of equally near ones in the order of the file.
	slices.SortStableFunc(found, func(a, b near) int { return a.far - b.far })
	var out []string
	for _, n := range found[:min(len(found), maxNames)] {
		out = append(out, n.name)
	}
	return out
}

// distance is how many bytes must be put in, taken out, changed or exchanged with
// their neighbours to make one string the other; long ones are far.
func distance(a, b string) int {
	const most = 256
	if len(a) > most || len(b) > most {
		return most
	}
	n := len(b) + 1
	rows := [3][]int{make([]int, n), make([]int, n), make([]int, n)}
	for j := range n {
		rows[0][j] = j
	}
	for i := range len(a) {
		before, last, row := rows[(i+2)%3], rows[i%3], rows[(i+1)%3]
		row[0] = i + 1
		for j := range len(b) {
			change := last[j]
			if a[i] != b[j] {
				change++
			}
			row[j+1] = min(change, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
	}
	return rows[len(a)%3][len(b)]
}
