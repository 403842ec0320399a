package cataloguefile

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Query is what a user looks for. A row must meet all conditions. Nil and empty ones are met by every row.
type Query struct {
	Variables     []string // shell patterns; one of them must match
	Times         *Times
	Box           *Box
	StandardNames []string // as Variables
	Attributes    []Attribute
	Paths         []string // as Variables
	Kinds         []string // of Kinds; one of them must be that of the file
}

// Attribute is a condition on an attribute of the variable or, if that has none of the name, of the file.
type Attribute struct {
	Name string
	// Value is a shell pattern for a text, or a number.
	Value string
}

// ParseAttribute reads NAME=VALUE.
func ParseAttribute(s string) (Attribute, error) {
	name, value, ok := strings.Cut(s, "=")
	if !ok || name == "" {
		return Attribute{}, fmt.Errorf("expected NAME=VALUE, found %q", s)
	}
	return Attribute{name, value}, CheckPattern(value)
}

// CheckPattern returns an error for a malformed pattern.
func CheckPattern(pattern string) error {
	if _, err := path.Match(pattern, ""); err != nil {
		return fmt.Errorf("expected a shell pattern, found %q, which has an open bracket or ends in a backslash", pattern)
	}
	return nil
}

// matches reports whether a text is equal to a pattern or matches it. * and ? match slashes, too, since these
// are not paths.
func matches(pattern, text string) bool {
	if pattern == text {
		return true
	}
	noSlash := strings.NewReplacer("/", "\x00")
	ok, err := path.Match(noSlash.Replace(pattern), noSlash.Replace(text))
	return err == nil && ok
}

func matchesAny(patterns []string, text string) bool {
	if len(patterns) == 0 {
		return true
	}
	for _, p := range patterns {
		if matches(p, text) {
			return true
		}
	}
	return false
}

// Matches reports whether a row is one that the user looks for.
func (q *Query) Matches(r *Row) bool {
	if !matchesAny(q.Variables, r.Variable) || !matchesAny(q.StandardNames, r.StandardName) {
		return false
	}
	if !matchesAny(q.Paths, r.Name()) || len(q.Kinds) > 0 && !slices.Contains(q.Kinds, r.Kind) {
		return false
	}
	if q.Times != nil && !q.Times.meets(r) || q.Box != nil && !q.Box.meets(r) {
		return false
	}
	for _, a := range q.Attributes {
		if !a.meets(r) {
			return false
		}
	}
	return true
}

func (a *Attribute) meets(r *Row) bool {
	value := member(r.Attributes, a.Name)
	if value == nil {
		value = member(r.FileAttributes, a.Name)
	}
	var text string
	if value == nil || json.Unmarshal(value, &text) == nil {
		return value != nil && matches(a.Value, text)
	}
	want, err := strconv.ParseFloat(a.Value, 64)
	if err != nil {
		return false
	}
	var numbers []float64
	if json.Unmarshal(value, &numbers) != nil {
		numbers = make([]float64, 1)
		if json.Unmarshal(value, &numbers[0]) != nil {
			return false
		}
	}
	return len(numbers) == 1 && numbers[0] == want
}

// member returns a member of a JSON object, or nil.
func member(object, name string) json.RawMessage {
	// Most objects lack the name, and need not be parsed.
	if !strings.Contains(object, string(quote(name))) {
		return nil
	}
	var m map[string]json.RawMessage
	if json.Unmarshal([]byte(object), &m) != nil {
		return nil
	}
	return m[name]
}

// Box is a range of longitudes and latitudes, edges included.
type Box struct{ west, south, east, north float64 }

// ParseBox reads W,S,E,N in degrees. Longitudes are from -360 to 360, so that -10 and 350 are the same. A
// box with W east of E, such as 170,-10,-170,10, goes across the date line.
func ParseBox(s string) (*Box, error) {
	words := strings.Split(s, ",")
	if len(words) != 4 {
		return nil, fmt.Errorf("expected W,S,E,N, found %q", s)
	}
	var n [4]float64
	for i, w := range words {
		x, err := strconv.ParseFloat(strings.TrimSpace(w), 64)
		if err != nil || math.IsNaN(x) {
			return nil, fmt.Errorf("expected W,S,E,N in degrees, found %q", w)
		}
		if most := [...]float64{360, 90, 360, 90}[i]; math.Abs(x) > most {
			return nil, fmt.Errorf("expected degrees from %g to %g, found %g", -most, most, x)
		}
		n[i] = x
	}
	b := &Box{n[0], n[1], n[2], n[3]}
	if b.south > b.north {
		return nil, errors.New("expected W,S,E,N, found S north of N")
	}
	if b.east < b.west {
		b.east += 360 * math.Ceil((b.west-b.east)/360)
	}
	return b, nil
}

// meets reports whether a row has a place in the box: one of its points, or else one of its own box. A variable
// without one of the coordinates meets nothing.
func (b *Box) meets(r *Row) bool {
	if r.Points != nil {
		return slices.ContainsFunc(r.Points.at, func(p [2]float64) bool {
			return p[1] >= b.south && p[1] <= b.north && b.reaches(p[0], p[0])
		})
	}
	if r.LatMin == nil || r.LonMin == nil || *r.LatMax < b.south || *r.LatMin > b.north {
		return false
	}
	return r.LonCircle || b.reaches(*r.LonMin, *r.LonMax)
}

// reaches reports whether the box has one of the longitudes from west to east, on any turn.
func (b *Box) reaches(west, east float64) bool {
	if b.east-b.west >= 360 {
		return true
	}
	// The first place that is not west of the box, after turns of 360 degrees.
	turns := math.Ceil((b.west - east) / 360)
	return west+360*turns <= b.east
}
